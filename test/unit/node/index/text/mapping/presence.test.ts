import { expect } from 'chai'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { parseExact, type JsonObject } from '../../../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../../../node/document/json-object.ts'
import { DocumentTester } from '../../../../../../node/index/text/documents/document-tester.ts'
import { NO_CONDITIONS } from '../../../../../../node/index/text/search/text-search.ts'
import { parseCanonicalQuery } from '../../../../../../node/query/language/parse-canonical-query.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

const LONG = 'x'.repeat(300)

/** By key: a value that a field of text may have, and whether it is one. */
const VALUES: Readonly<Record<string, { readonly value: unknown; readonly isThere: boolean }>> = {
  'a word': { value: 'sea', isThere: true },
  'a sign': { value: '-', isThere: true },
  signs: { value: '… !?', isThere: true },
  'a stop word': { value: 'the', isThere: true },
  'stop words': { value: 'of the', isThere: true },
  'an emoji': { value: '⛵', isThere: true },
  'an empty text': { value: '', isThere: true },
  'a space': { value: ' ', isThere: true },
  'an invisible character': { value: '\u200b', isThere: true },
  'what is too long for a word': { value: LONG, isThere: true },
  markup: { value: '<p></p>', isThere: true },
  'a number': { value: 0, isThere: true },
  'false': { value: false, isThere: true },
  'a list of empty texts': { value: ['', null, ['']], isThere: true },
  'a sign beside a word': { value: ['-', 'sea'], isThere: true },
  null: { value: null, isThere: false },
  'a list of null': { value: [null], isThere: false },
  'an empty list': { value: [], isThere: false },
} // prettier-ignore

const TYPES = {
  inferred: undefined,
  text: ['text'],
  english: ['text'],
  html: ['html'],
  typed: ['text', 'search_as_you_type'],
  both: ['text', 'keyword'],
  keyword: ['keyword'],
}

/** The ways to ask for a value. */
const QUESTIONS: Readonly<Record<string, (field: string) => object>> = {
  'field:*': (field) => ({ query: `${field}:*` }),
  '* of a field': (field) => ({ query: '*', field }),
  wildcard: (field) => ({ wildcard: '*', field }),
  canonical: (field) => ({ exists: { field } }),
}

describe('The presence of a value', () => {
  const { index, tester } = worldOf()
  const present = Object.keys(VALUES).filter((key) => VALUES[key]?.isThere === true)
  const absent = ['none', ...Object.keys(VALUES).filter((key) => !present.includes(key))]
  for (const type of Object.keys(TYPES)) {
    for (const [name, asked] of Object.entries(QUESTIONS)) {
      it(`is that of any value, with words or without: ${name}, ${type}`, () => {
        const query = asked(type)
        expect(found(index, query)).to.have.members(present)
        expect(found(index, without(query))).to.have.members(absent)
        expect(tester(query)).to.have.members(present)
        expect(tester(without(query))).to.have.members(absent)
      })
    }
  }

  it('is that of a value in any text', () => {
    expect(found(index, { wildcard: '*', field: '_all' })).to.have.members(present)
  })

  it('is that of the last value that was written', () => {
    const changed = new MemoryTextIndex({ a: { t: 'sea' }, b: { t: '-' }, c: { t: '-' } })
    changed.write({ a: { t: '-' }, b: { t: null }, c: { t: 'sea' } })

    expect(found(changed, { query: 't:*' })).to.have.members(['a', 'c'])
    expect(found(changed, without({ query: 't:*' }))).to.have.members(['b'])
  })

  it('scores alike for all values', () => {
    const query = parseQuery({ wildcard: '*', field: 'text', boost: 3 }, 'query')
    const { hits } = index.search({ ...EVERYTHING, conditions: { ...NO_CONDITIONS, query } })

    expect(new Set(hits.map(({ score }) => score)).size).to.equal(1)
  })

  it('has no field that a document or a query could name', () => {
    const odd = new MemoryTextIndex({ a: { 't\u0000wordless': 'sea' }, b: { t: 'sea' } })

    expect(found(odd, { query: 't:*' })).to.have.members(['b'])
    expect(found(index, { wildcard: '*', field: 'text\u0000wordless' })).to.deep.equal([])
  })
})

function without(query: object): object {
  return 'exists' in query ? { bool: { must_not: [query] } } : { must_not: { disjuncts: [query] } }
}

/** The canonical query has its own form. */
function parsed(asked: object) {
  const clause = objectOf(asked)
  const isCanonical = 'exists' in clause || isJsonObject(clause['bool'])
  return isCanonical ? parseCanonicalQuery(clause, 'query') : parseQuery(clause, 'filter_query')
}

function worldOf() {
  const properties = Object.fromEntries(
    Object.entries(TYPES).flatMap(([name, types]) => {
      return types === undefined ? [] : [[name, { 'x-service-types': types, ...analyzerOf(name) }]]
    }),
  )
  const schema = parseTableSchema(
    {
      default_type: 'base',
      document_schemas: { base: { schema: { type: 'object', properties } } },
    },
    undefined,
  )
  const documents = Object.fromEntries([
    ...Object.entries(VALUES).map(([key, { value }]) => {
      const fields = Object.keys(TYPES).map((name) => [name, value])
      return [key, objectOf(Object.fromEntries(fields))] as const
    }),
    ['none', objectOf({ other: 1 })] as const,
  ])
  const index = new MemoryTextIndex(documents, schema)
  const tester = (filter: object) => {
    const table = { schema, fields: index.mapping.fields }
    const conditions = { ...NO_CONDITIONS, filter: parsed(filter) }
    const opened = runAtOnce(DocumentTester.open(table, conditions))
    const stored = Object.entries(documents).map(([key, document]) => {
      return { key: Buffer.from(key), json: Buffer.from(JSON.stringify(document)) }
    })
    const passed = runAtOnce(opened.test(stored))
    return Object.keys(documents).filter((_, at) => passed[at])
  }
  return { index, tester }
}

function analyzerOf(name: string): object {
  return name === 'english' ? { 'x-service-analyzer': 'english' } : {}
}

function found(index: MemoryTextIndex, asked: object): readonly string[] {
  const conditions = { ...NO_CONDITIONS, filter: parsed(asked) }
  const window = { kind: 'first', limit: 100 } as const
  const { hits } = index.search({ ...EVERYTHING, conditions, window })
  return hits.map(({ key }) => Buffer.from(key).toString())
}

function objectOf(value: object): JsonObject {
  const json = parseExact(JSON.stringify(value))
  if (!isJsonObject(json)) throw new Error('not an object')
  return json
}
