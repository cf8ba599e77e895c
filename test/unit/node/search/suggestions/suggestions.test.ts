import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { EventLoopTurns } from '../../../../../node/search/tables/event-loop-turns.ts'
import type { QuerySuggestion } from '../../../../../node/search/run/query-result.ts'
import { queryTable } from '../../../../../node/search/table-query.ts'
import type { JsonObject } from '../../../../../node/document/exact-json.ts'
import { parseQueryRequest } from '../../../../../node/query/request/query-request.ts'
import { parseTableSchema, type TableSchema } from '../../../../../node/schema/table-schema.ts'
import { TextShard } from '../../../../support/fakes/text-shard.ts'

const clock = new ManualClock()

const settingsOf = (settings: JsonObject) => parseTableSchema(settings, undefined)

interface Library {
  readonly shards: readonly TextShard[]
}

/** As many documents with each title as are asked for, one shard after the other. */
function library(
  titles: Readonly<Record<string, number>>,
  { shardCount = 1, schema }: { readonly shardCount?: number; readonly schema?: TableSchema } = {},
): Library {
  const shards = Array.from({ length: shardCount }, () => new TextShard({}, schema))
  let number = 0
  for (const [title, count] of Object.entries(titles)) {
    for (let copy = 0; copy < count; copy += 1) {
      shards[number % shardCount]?.write({ [`k${number}`]: { title } })
      number += 1
    }
  }
  return { shards }
}

async function suggest(
  { shards }: Library,
  search: JsonObject | undefined,
): Promise<readonly QuerySuggestion[]> {
  const [first = new TextShard({})] = shards
  const table = {
    name: 'books',
    schema: undefined,
    textIndexes: ['full_text'],
    vectorIndexes: [],
    shards,
    shardOf: () => first,
  }
  const body = { suggest: true, ...(search === undefined ? {} : { full_text_search: search }) }
  const { suggestions = [] } = await queryTable({ clock, turns: new EventLoopTurns() }, table, {
    request: parseQueryRequest(body),
    signal: new AbortController().signal,
  })
  return suggestions
}

async function corrected(books: Library, query: string): Promise<string | undefined> {
  const [only] = await suggest(books, { query })
  return only?.corrected
}

/** The corrected text of a `simple` query. */
async function correctedTyping(query: string): Promise<string | undefined> {
  const [only] = await suggest(MUSIC, { simple: { query } })
  return only?.corrected
}

async function optionsFor(books: Library, match: string): Promise<readonly string[]> {
  const [only] = await suggest(books, { match, field: 'title' })
  return (only?.words ?? []).flatMap(({ options }) => options.map(({ text }) => text))
}

const MUSIC = library({ 'guitar lessons': 5, 'piano music': 4, 'the harbour': 3 })

describe('suggestions', () => {
  it('name the word, its place, the closest words with their documents, and the corrected text', async () => {
    expect(await suggest(MUSIC, { match: 'my gutiar lessons', field: 'title' })).to.deep.equal([
      {
        text: 'my gutiar lessons',
        corrected: 'my guitar lessons',
        words: [
          { text: 'gutiar', offset: 3, length: 6, options: [{ text: 'guitar', doc_freq: 5 }] },
        ],
      },
    ])
  })

  const typos: Readonly<Record<string, string>> = {
    xuitar: 'guitar',
    uitar: 'guitar',
    gutiar: 'guitar',
    guiar: 'guitar',
    guitaar: 'guitar',
    guitra: 'guitar',
    guitat: 'guitar',
    paino: 'piano',
    harbuor: 'harbour',
    GUTIAR: 'guitar',
  }
  for (const [typed, meant] of Object.entries(typos)) {
    it(`find ${meant} behind ${typed}`, async () => {
      expect(await corrected(MUSIC, typed)).to.equal(meant)
    })
  }

  it('correct several words of one text', async () => {
    expect(await corrected(MUSIC, 'gutiar OR paino')).to.equal('guitar OR piano')
  })

  it('are the same however the documents are spread over shards', async () => {
    const titles = { 'sea charts': 7, 'sea chants': 6, 'see charms': 2 }
    const search = { match: 'sae charst', field: 'title' }
    const whole = await suggest(library(titles), search)

    const apart = await suggest(library(titles, { shardCount: 4 }), search)

    expect(whole[0]?.corrected).to.equal('sea charts')
    expect(apart).to.deep.equal(whole)
  })

  it('count over all shards, also where one shard has the word itself', async () => {
    const titles = { gutiar: 1, guitar: 30 }

    const [only] = await suggest(library(titles, { shardCount: 3 }), { query: 'title:gutiar' })

    expect(only?.words[0]?.options).to.deep.equal([{ text: 'guitar', doc_freq: 30 }])
    expect(only?.corrected).to.equal('title:guitar')
  })

  it('are empty without a text, and absent without a request', async () => {
    expect(await suggest(MUSIC, undefined)).to.deep.equal([])
    expect(await suggest(MUSIC, { query: '' })).to.deep.equal([])
    const plain = parseQueryRequest({ full_text_search: { query: 'gutiar' } })
    expect(plain.suggest).to.equal(false)
  })
})

describe('suggested words', () => {
  it('come in the order of edits, then of equal first letters, then of frequency', async () => {
    const books = library({ planter: 1, planet: 2, plants: 6, slant: 9, plane: 3 })

    expect(await optionsFor(books, 'plant')).to.deep.equal(['plants', 'plane', 'planet', 'slant'])
    expect(await optionsFor(books, 'planetr')).to.deep.equal([
      'planet',
      'planter',
      'plants',
      'plane',
    ])
  })

  it('are five at most', async () => {
    const books = library({ bart: 1, cart: 1, dart: 1, fart: 1, hart: 1, mart: 1, part: 1 })

    expect(await optionsFor(books, 'zart')).to.have.lengthOf(5)
  })

  it('are absent for frequent words, short words and numbers', async () => {
    const books = library({ form: 3, from: 100, 'sea 2024': 5 })

    expect(await optionsFor(books, 'form')).to.deep.equal([])
    expect(await optionsFor(books, 'se')).to.deep.equal([])
    expect(await optionsFor(books, '2025')).to.deep.equal([])
  })

  it('are never rarer than the typed word, and for a rare word much more frequent', async () => {
    expect(await optionsFor(library({ form: 2, from: 1 }), 'form')).to.deep.equal([])
    expect(await optionsFor(library({ form: 2, from: 10 }), 'form')).to.deep.equal([])
    expect(await optionsFor(library({ form: 2, from: 40 }), 'form')).to.deep.equal(['from'])
  })

  it('are not words that only deleted documents have', async () => {
    const books = library({ guitar: 1, guitars: 1 })
    books.shards[0]?.delete('k0')

    expect(await optionsFor(books, 'guitra')).to.deep.equal(['guitars'])
  })
})

describe('the text that suggestions correct', () => {
  it('is typed text without excluded words and a last word that is only begun', async () => {
    expect(await correctedTyping('gutiar "paino music" -lesssons')).to.equal(
      'guitar "piano music" -lesssons',
    )
    expect(await correctedTyping('piano guit')).to.equal(undefined)
    expect(await correctedTyping('paino guit')).to.equal('piano guit')
  })

  it('is compared with several fields as one, and a word that one of them knows is kept', async () => {
    const shard = new TextShard({})
    for (const n of [1, 2, 3]) shard.write({ [`k${n}`]: { title: 'harbour', author: 'harbor' } })
    const fields = ['title', 'author']

    expect(
      await suggest(
        { shards: [shard] },
        { multi_match: { query: 'harbor ', fields, type: 'bool_prefix' } },
      ),
    ).to.deep.equal([])
    const [only] = await suggest(
      { shards: [shard] },
      { multi_match: { query: 'hrbour x', fields, type: 'bool_prefix' } },
    )
    expect(only?.words[0]?.options.map(({ text }) => text)).to.deep.equal(['harbour', 'harbor'])
  })

  it('includes fuzzy words and phrases, and each clause separately', async () => {
    const fuzzy = { term: 'gutiar', fuzziness: 2, field: 'title' }
    const match = { match: 'paino', field: 'title' }
    const found = await suggest(MUSIC, { conjuncts: [fuzzy, match] })

    expect(found.map((one) => one.corrected)).to.have.members(['guitar', 'piano'])
    expect(await corrected(MUSIC, '"gutiar lessons"~2')).to.equal('"guitar lessons"~2')
  })

  it('leaves out exclusions, patterns, field names and quoted parts of other words', async () => {
    const query = 'title:gutiar -gutiar gutiar* gutiarists'

    expect(await corrected(MUSIC, query)).to.equal('title:guitar -gutiar gutiar* gutiarists')
    expect(await corrected(MUSIC, '-gutiar')).to.equal(undefined)
  })

  it('may be in other scripts', async () => {
    const books = library({ 'московская гитара': 4, θάλασσα: 3, 'bücher über käse': 3 })

    expect(await corrected(books, 'гитраа')).to.equal('гитара')
    expect(await corrected(books, 'θάλλασσα')).to.equal('θαλασσα')
    expect(await corrected(books, 'büchre')).to.equal('bucher')
  })

  it('may be a whole value of a keyword', async () => {
    const books = library({ 'MIT License': 4 })

    const [only] = await suggest(books, { match: 'MIT Lisence', field: 'title.keyword' })

    expect(only?.corrected).to.equal('MIT License')
  })

  it('ends after the first words of a long text', async () => {
    const words = Array.from({ length: 12 }, (_, n) => `gutiar${'abcdefghijkl'[n] ?? ''}`)
    const books = library({ [words.map((word) => word.replace('tia', 'ita')).join(' ')]: 3 })

    const [only] = await suggest(books, { match: words.join(' '), field: 'title' })

    expect(only?.words).to.have.lengthOf(8)
  })
})

describe('suggestions under the text settings of a table', () => {
  it('do not correct stop words', async () => {
    const schema = settingsOf({ stop_words: ['teh', 'the'] })
    const books = library({ 'the harbour': 3 }, { schema })

    expect(await corrected(books, 'teh harbuor')).to.equal('teh harbour')
  })

  it('do not correct words that have synonyms', async () => {
    const schema = settingsOf({ synonyms: [['guitarr', 'guitar']] })
    const books = library({ guitar: 3 }, { schema })

    expect(await corrected(books, 'guitarr')).to.equal(undefined)
    expect(await corrected(books, 'guitarx')).to.equal('guitar')
  })

  it('give a stemmed word the ending that was typed', async () => {
    const schema = settingsOf({ language: 'english' })
    const books = library(
      { 'computers make happiness': 4, 'she was running': 4, guitars: 4 },
      { schema },
    )

    expect(await corrected(books, 'copmuter')).to.equal('computer')
    expect(await corrected(books, 'hapiness')).to.equal('happiness')
    expect(await corrected(books, 'runnning')).to.equal('running')
    expect(await corrected(books, 'gutiars')).to.equal('guitars')
  })
})
