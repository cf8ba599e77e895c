import { expect } from 'chai'
import { seededRandom, type Random } from '../../../../../../lib/random.ts'
import { parseExact } from '../../../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../../../node/document/json-object.ts'
import { NO_CONDITIONS } from '../../../../../../node/index/text/search/text-search.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

const { seed } = parseTestSettings(process.env)
const LOG = 'The sea is wide. A sea chart and a chart of the sea. Fish chart.'

/** By what is asked: the marked text of a field, undefined without marks. */
const CASES: readonly {
  readonly what: string
  readonly query: object
  readonly document: object
  readonly marked: object | undefined
}[] = [
  {
    what: 'where the phrase is',
    query: { match_phrase: 'sea chart', field: 't' },
    document: { t: LOG },
    marked: { t: ['The sea is wide. A [sea] [chart] and a chart of the sea. Fish chart.'] },
  },
  {
    what: 'as far apart as the slop allows',
    query: { match_phrase: 'sea chart', field: 't', slop: 4 },
    document: { t: LOG },
    marked: { t: ['The sea is wide. A [sea] [chart] and a [chart] of the [sea]. Fish [chart].'] },
  },
  {
    what: 'of a phrase in a query string',
    query: { query: 't:"sea chart"' },
    document: { t: LOG },
    marked: { t: ['The sea is wide. A [sea] [chart] and a chart of the sea. Fish chart.'] },
  },
  {
    what: 'of a phrase with slop in a query string, in any field',
    query: { query: '"chart fish"~2' },
    document: { t: LOG, u: 'chart, but no fish; fish chart' },
    marked: {
      t: ['The sea is wide. A sea chart and a chart of the sea. [Fish] [chart].'],
      u: ['[chart], but no [fish]; [fish] [chart]'],
    },
  },
  {
    what: 'of a phrase in a simple query',
    query: { simple: { query: '"sea chart"' } },
    document: { t: LOG },
    marked: { t: ['The sea is wide. A [sea] [chart] and a chart of the sea. Fish chart.'] },
  },
  {
    what: 'of a phrase beside other clauses, whose words have their own',
    query: { query: 't:"sea chart" OR t:fish OR t:wid*' },
    document: { t: LOG },
    marked: { t: ['The sea is [wide]. A [sea] [chart] and a chart of the sea. [Fish] chart.'] },
  },
  {
    what: 'of a phrase and of one of its words, everywhere',
    query: {
      conjuncts: [
        { match_phrase: 'sea chart', field: 't' },
        { match: 'sea', field: 't' },
      ],
    },
    document: { t: LOG },
    marked: { t: ['The [sea] is wide. A [sea] [chart] and a chart of the [sea]. Fish chart.'] },
  },
  {
    what: 'of no phrase that the document does not have',
    query: { query: 't:"wide chart" OR t:fish' },
    document: { t: LOG },
    marked: { t: ['The sea is wide. A sea chart and a chart of the sea. [Fish] chart.'] },
  },
  {
    what: 'of a fuzzy phrase',
    query: { match_phrase: 'see charts', field: 't', fuzziness: 1 },
    document: { t: LOG },
    marked: { t: ['The sea is wide. A [sea] [chart] and a chart of the sea. Fish chart.'] },
  },
  {
    what: 'of a phrase of several wordings',
    query: { terms: [['sea', 'fish'], 'chart'], field: 't' },
    document: { t: LOG },
    marked: { t: ['The sea is wide. A [sea] [chart] and a chart of the sea. [Fish] [chart].'] },
  },
  {
    what: 'of a prefix in a row of words',
    query: { prefix: 'sea-cha', field: 't' },
    document: { t: 'a sea, a chapter, a sea-chart' },
    marked: { t: ['a sea, a chapter, a [sea]-[chart]'] },
  },
  {
    what: 'in the element of an array that has the phrase',
    query: { match_phrase: 'sea chart', field: 't' },
    document: { t: ['the sea', 'chart', 'one sea chart', 'sea'] },
    marked: { t: ['one [sea] [chart]'] },
  },
  {
    what: 'across elements of an array only if the slop reaches the next one',
    query: { match_phrase: 'sea chart', field: 't', slop: 99 },
    document: { t: ['the sea', 'chart', 'x', 'sea'] },
    marked: { t: ['the [sea]', '[chart]'] },
  },
  {
    what: 'in the member of an object that has the phrase',
    query: { match_phrase: 'sea chart', field: 'o.t' },
    document: { o: [{ t: 'sea' }, { t: 'sea chart, chart' }], t: 'sea chart' },
    marked: { 'o.t': ['[sea] [chart], chart'] },
  },
  {
    what: 'of a phrase with a stop word only where it has a word in between',
    query: { match_phrase: 'chart of the sea', field: 't', analyzer: 'english' },
    document: { t: LOG },
    marked: { t: ['The sea is wide. A sea chart and a [chart] of the [sea]. Fish chart.'] },
  },
  {
    what: 'of a phrase that says a word twice',
    query: { match_phrase: 'so so', field: 't' },
    document: { t: 'so, it is so so' },
    marked: { t: ['so, it is [so] [so]'] },
  },
  {
    what: 'of a phrase in Han',
    query: { match_phrase: '北京大学', field: 't' },
    document: { t: '大学在北京,北京大学' },
    marked: { t: ['大学在北京,[北][京][大][学]'] },
  },
]

describe('The marks of a phrase', () => {
  for (const { what, query, document, marked } of CASES) {
    it(`are ${what}`, () => {
      expect(markedBy(query, document)).to.deep.equal(marked)
    })
  }

  it(`are those of words in an occurrence (QUARRY_TEST_SEED=${seed})`, () => {
    const random = seededRandom(seed)
    for (let round = 0; round < 300; round += 1) {
      const texts = Array.from({ length: 1 + below(random, 3) }, () => randomWords(random, 12))
      const asked = { texts, phrase: ['ka', ...randomWords(random, 2)], slop: below(random, 5) }
      const marks = marksOf(asked)
      expect(refusalOf(asked, marks), JSON.stringify({ asked, marks })).to.equal(undefined)
    }
  })

  // Each defect is refused by the check, so the check can fail.
  const texts = [
    ['ka', 'bo', 'co', 'ka'],
    ['bo', 'ka', 'bo'],
  ]
  const asked = { texts, phrase: ['ka', 'bo'], slop: 0 }
  const defects: Readonly<Record<string, readonly number[][]>> = {
    'all words of the phrase': [[0, 1, 3], [0, 1, 2]],
    'no words': [[], []],
    'half of an occurrence': [[0, 1], [1]],
    'one occurrence only': [[0, 1], []],
    'words of other elements': [[0, 1, 3], [1, 2]],
  } // prettier-ignore
  for (const [what, marks] of Object.entries(defects)) {
    it(`would not be ${what}`, () => {
      expect(refusalOf(asked, [[0, 1], [1, 2]])).to.equal(undefined) // prettier-ignore
      expect(refusalOf(asked, marks)).to.be.a('string')
    })
  }
})

/** Words in the elements of an array, and a phrase that is looked for there. */
interface Asked {
  readonly texts: readonly (readonly string[])[]
  readonly phrase: readonly string[]
  readonly slop: number
}

/** By text, the places of marked words. */
type Marks = readonly (readonly number[])[]

/** What is wrong with the marks; undefined if nothing is. */
function refusalOf({ texts, phrase, slop }: Asked, marks: Marks): string | undefined {
  for (const [at, words] of texts.entries()) {
    const occurrences = occurrencesOf(words, phrase, slop)
    const allowed = new Set(occurrences.flat())
    const marked = new Set(marks[at])
    if (!marked.isSubsetOf(allowed)) return `a mark in text ${at} where the phrase is not`
    if (slop === 0 && !allowed.isSubsetOf(marked)) return `an unmarked occurrence in text ${at}`
    const isWhole = [...marked].every((place) => {
      return occurrences.some(
        (one) => one.includes(place) && one.every((other) => marked.has(other)),
      )
    })
    if (!isWhole) return `a part of an occurrence in text ${at}`
  }
  return undefined
}

/** All choices of one word for each place of the phrase that lie near enough. */
function occurrencesOf(words: readonly string[], phrase: readonly string[], slop: number) {
  let chosen: readonly (readonly number[])[] = [[]]
  for (const wanted of phrase) {
    chosen = chosen.flatMap((places) => {
      const free = [...words.keys()].filter((at) => words[at] === wanted && !places.includes(at))
      return free.map((at) => [...places, at])
    })
  }
  return chosen.filter((places) => {
    const shifted = places.map((at, offset) => at - offset)
    return Math.max(...shifted) - Math.min(...shifted) <= slop
  })
}

/** Each text begins with a word that tells its place, which fragments keep. */
function marksOf({ texts, phrase, slop }: Asked): Marks {
  const t = texts.map((words, at) => [`text${at}`, ...words].join(' '))
  const marked = markedBy({ match_phrase: phrase.join(' '), field: 't', slop }, { t })
  return texts.map((_, at) => {
    const fragment = marked?.['t']?.find((one) => one.startsWith(`text${at} `)) ?? ''
    const words = fragment.split(' ').slice(1)
    return [...words.keys()].filter((place) => words[place]?.startsWith('['))
  })
}

/** Nothing is marked in a document that the query does not find. */
function markedBy(asked: object, document: object) {
  const query = parseQuery(parseExact(JSON.stringify(asked)), 'query')
  const json = JSON.stringify(document)
  const stored = parseExact(json)
  const index = new MemoryTextIndex(isJsonObject(stored) ? { k: stored } : {})
  const highlight = { fields: undefined, pre: '[', post: ']' }
  const [marked] = index.highlight({ query, highlight, documents: [Buffer.from(json)] })
  const { hits } = index.search({ ...EVERYTHING, conditions: { ...NO_CONDITIONS, query } })
  expect(hits.length === 1, `${json} is found`).to.equal(marked !== undefined)
  return marked
}

function randomWords(random: Random, lengthMax: number): readonly string[] {
  const length = 1 + below(random, lengthMax)
  return Array.from({ length }, () => ['ka', 'bo', 'co'][below(random, 3)] ?? 'ka')
}

function below(random: Random, limit: number): number {
  return Math.floor(random() * limit)
}
