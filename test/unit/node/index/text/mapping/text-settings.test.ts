import { expect } from 'chai'
import type { JsonObject } from '../../../../../../node/document/exact-json.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import {
  EVERYTHING,
  MemoryTextIndex,
  type Documents,
} from '../../../../../support/worlds/memory-text-index.ts'

const SHOPS: Documents = {
  a: { title: 'a television on the wall' },
  b: { title: 'the tv in the kitchen' },
  c: { title: 'flat screen for the office' },
  d: { title: 'flat roofs and screen doors' },
  e: { title: 'new york by night' },
  f: { title: 'ny, the night' },
  g: { title: 'a new day in york' },
}
const SYNONYMS = [
  ['tv', 'television', 'flat screen'],
  ['ny', 'new york'],
  { from: ['lodging'], to: ['office'] },
]

function indexOf(schema: object, documents: Documents): MemoryTextIndex {
  return new MemoryTextIndex(documents, parseTableSchema(schema, undefined))
}

function search(index: MemoryTextIndex, asked: JsonObject) {
  const query = parseQuery(asked, 'query')
  return index.search({ ...EVERYTHING, conditions: { ...EVERYTHING.conditions, query } })
}

function keys(index: MemoryTextIndex, asked: JsonObject): readonly string[] {
  return search(index, asked).hits.map(({ key }) => Buffer.from(key).toString())
}

describe('the language of a table', () => {
  const documents = {
    a: { title: 'Die Häuser der Städte', page: '<p>Bäume</p>' },
    b: { title: 'Ein Haus in der Stadt' },
  }
  const german = indexOf({ language: 'german' }, documents)

  it('stems fields that no schema mentions, and the search of all fields', () => {
    expect(keys(german, { match: 'haus', field: 'title' })).to.have.members(['a', 'b'])
    expect(keys(german, { match: 'städte' })).to.have.members(['a', 'b'])
    expect(keys(german, { simple: { query: 'hauses stadt' } })).to.have.members(['a', 'b'])
    expect(keys(indexOf({}, documents), { match: 'haus' })).to.deep.equal(['b'])
  })

  it('leaves out the stop words of the language', () => {
    expect(keys(german, { match: 'der' })).to.deep.equal([])
    expect(keys(indexOf({}, documents), { match: 'der' })).to.have.members(['a', 'b'])
  })

  it('applies to declared fields without an analyzer of their own, and to HTML', () => {
    const properties = {
      title: { type: 'string' },
      page: { 'x-service-types': ['html'] },
      name: { type: 'string', 'x-service-analyzer': 'simple' },
    }
    const more = { a: { ...documents.a, name: 'Häuser' } }
    const index = indexOf({ language: 'german', type: 'object', properties }, more)

    expect(keys(index, { match: 'haus', field: 'title' })).to.deep.equal(['a'])
    expect(keys(index, { match: 'baum', field: 'page' })).to.deep.equal(['a'])
    expect(keys(index, { match: 'haus', field: 'name' })).to.deep.equal([])
    expect(keys(index, { match: 'häuser', field: 'name' })).to.deep.equal(['a'])
  })
})

describe('the stop words of a table', () => {
  const documents = { a: { title: 'to be or not to be' }, b: { title: 'the sea' } }

  it('replace the usual ones', () => {
    const none = indexOf({ stop_words: 'none' }, documents)
    const own = indexOf({ stop_words: ['Sea'] }, documents)
    const french = indexOf({ stop_words: 'french' }, { a: { title: 'les mots' } })

    expect(keys(none, { match_phrase: 'not to be' })).to.deep.equal(['a'])
    expect(keys(own, { match: 'the' })).to.deep.equal(['b'])
    expect(keys(own, { match: 'sea' })).to.deep.equal([])
    expect(keys(french, { match: 'les' })).to.deep.equal([])
    expect(keys(french, { match: 'mots' })).to.deep.equal(['a'])
  })

  it('may be set beside a language, and do not change its stemming', () => {
    const index = indexOf({ language: 'english', stop_words: 'none' }, documents)

    expect(keys(index, { match: 'the seas' })).to.deep.equal(['b'])
    expect(keys(index, { match: 'being' })).to.deep.equal(['a'])
    expect(keys(indexOf({ language: 'english' }, documents), { match: 'the' })).to.deep.equal([])
  })
})

describe('the synonyms of a table', () => {
  const index = indexOf({ synonyms: SYNONYMS }, SHOPS)
  const hasTv = ['a', 'b', 'c']

  it('are found by a match, with the typed word first', () => {
    expect(keys(index, { match: 'tv' })).to.have.members(hasTv)
    expect(keys(index, { match: 'tv' })[0]).to.equal('b')
    expect(keys(index, { match: 'television' })[0]).to.equal('a')
    expect(keys(index, { match: 'tv', field: 'title' })).to.have.members(hasTv)
  })

  it('may be several words, which must stand in a row', () => {
    expect(keys(index, { match: 'tv' })).to.not.include('d')
    expect(keys(index, { match: 'ny', operator: 'and' })).to.have.members(['e', 'f'])
    expect(keys(index, { match: 'new york', operator: 'and' })).to.have.members(['e', 'f', 'g'])
    expect(keys(index, { match: 'new york night', operator: 'and' })).to.have.members(['e', 'f'])
  })

  it('work one way where a rule says so', () => {
    expect(keys(index, { match: 'lodging' })).to.deep.equal(['c'])
    expect(keys(index, { match: 'office' })).to.deep.equal(['c'])
    const back = indexOf({ synonyms: [{ from: ['a1'], to: ['b1'] }] }, { k: { t: 'a1' } })
    expect(keys(back, { match: 'b1' })).to.deep.equal([])
  })

  it('replace their words in phrases', () => {
    expect(keys(index, { match_phrase: 'new york by night' })).to.have.members(['e', 'f'])
    expect(keys(index, { match_phrase: 'tv on the wall' })).to.deep.equal(['a'])
    expect(keys(index, { match_phrase: 'tv for the office' })).to.deep.equal(['c'])
    expect(keys(index, { match_phrase: 'flat screen in the kitchen' })).to.deep.equal(['b'])
    expect(keys(index, { match_phrase: 'tv' })).to.have.members(hasTv)
  })

  it('are found by a simple query, and in several fields at once', () => {
    expect(keys(index, { simple: { query: 'tv' } })).to.have.members(hasTv)
    expect(keys(index, { simple: { query: 'flat screen' } })).to.include.members(hasTv)
    expect(keys(index, { simple: { query: 'new york night' } })).to.include.members(['e', 'f'])
    expect(keys(index, { simple: { query: '"tv on the wall"' } })).to.deep.equal(['a'])
    expect(keys(index, { simple: { query: 'tv -wall' } })).to.have.members(['b', 'c'])
    const fields = { multi_match: { query: 'television', fields: ['title'], type: 'bool_prefix' } }
    expect(keys(index, fields)).to.have.members(hasTv)
  })

  it('are found by a query string', () => {
    expect(keys(index, { query: 'title:tv' })).to.have.members(hasTv)
    expect(keys(index, { query: '"new york"' })).to.have.members(['e', 'f'])
  })

  it('do not apply to terms, prefixes and keywords', () => {
    expect(keys(index, { term: 'tv', field: 'title' })).to.deep.equal(['b'])
    expect(keys(index, { prefix: 'tv', field: 'title' })).to.deep.equal(['b'])
    const whole = { match: 'tv', field: 'title.keyword' }
    expect(keys(indexOf({ synonyms: SYNONYMS }, { k: { title: 'television' } }), whole)).to.eql([])
  })

  it('are analyzed like the text of their field', () => {
    const settings = { language: 'german', synonyms: [['Fernseher', 'Glotzen']] }
    const german = indexOf(settings, { a: { t: 'die alte Glotze' } })

    expect(keys(german, { match: 'FERNSEHERN' })).to.deep.equal(['a'])
  })

  it('are highlighted', () => {
    const query = parseQuery({ match: 'tv' }, 'query')
    const documents = ['a', 'c'].map((key) => Buffer.from(JSON.stringify(SHOPS[key])))
    const highlight = { fields: undefined, pre: '[', post: ']' }
    const marked = index.highlight({ query, highlight, documents })

    expect(marked.map((fields) => fields?.['title'])).to.deep.equal([
      ['a [television] on the wall'],
      ['[flat] [screen] for the office'],
    ])
  })

  it('are bounded: a query with too many is answered with a warning', () => {
    const synonyms = Array.from({ length: 60 }, (_, rule) => {
      return Array.from({ length: 32 }, (_text, at) => `w${rule}x${at}`)
    })
    const large = indexOf({ synonyms }, { a: { t: 'w0x31' }, b: { t: 'w59x31' } })
    const every = synonyms.map(([first]) => first).join(' ')
    const answer = search(large, { match: every })

    expect(answer.hits).to.have.length(1)
    expect(answer.warnings).to.deep.equal([
      'the query has too many synonyms: those of its last words were not looked for',
    ])
    const phrase = search(indexOf({ synonyms: [['x', 'b c']] }, SHOPS), {
      match_phrase: Array.from({ length: 12 }, () => 'b c').join(' '),
    })
    expect(phrase.warnings.join()).to.include('the phrase has too many synonyms')
  })
})
