import { expect } from 'chai'
import { loadContract } from '../../../../../../door/contract.ts'
import { isServiceError } from '../../../../../../lib/errors.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import {
  parseExact,
  stringifyExact,
  type JsonObject,
} from '../../../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../../../node/document/json-object.ts'
import {
  DocumentTester,
  type TestedTable,
} from '../../../../../../node/index/text/documents/document-tester.ts'
import { NO_CONDITIONS } from '../../../../../../node/index/text/search/text-search.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import {
  FILTERED_DOCUMENTS,
  FILTERED_FIELDS,
  FILTERED_SCHEMA,
  FILTERS,
  FILTERS_BY_CLAUSE,
} from '../../../../../support/worlds/filter-world.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

const STORED: readonly (readonly [string, JsonObject])[] = Object.entries(FILTERED_DOCUMENTS).map(
  ([key, document]) => [key, objectOf(JSON.stringify(document))],
)

const KEYS = STORED.map(([key]) => key)

/** The keys that pass, or the refusal. */
type Verdict = readonly string[] | 'refused'

describe('DocumentTester', () => {
  const index = new MemoryTextIndex(Object.fromEntries(STORED), FILTERED_SCHEMA)
  const table = { schema: FILTERED_SCHEMA, fields: index.mapping.fields }

  it('is compared for every kind of filter of the contract', () => {
    const { DocumentFilter: schema } = loadContract('store.v1').document.components['schemas'] ?? {}
    const clauses = JSON.stringify(schema).match(/(?<=#\/components\/schemas\/)\w+Clause/g) ?? []

    expect(Object.keys(FILTERS_BY_CLAUSE).toSorted()).to.deep.equal(clauses.toSorted())
    expect(FILTERS.length).to.be.greaterThan(FILTERED_FIELDS.length * 60)
  })

  for (const [clause, filtersOf] of Object.entries(FILTERS_BY_CLAUSE)) {
    it(`passes what an index finds, one by one and together: ${clause}`, () => {
      const filters = FILTERED_FIELDS.flatMap((field) => filtersOf(field))
      for (const [at, filter] of filters.entries()) {
        const shown = JSON.stringify(filter)
        const found = indexed(filter)
        expect(tested(filter, table), shown).to.deep.equal(found)
        if (at % 8 === 0) expect(tested(filter, table, 1), shown).to.deep.equal(found)
      }
    })
  }

  // Each defect is found by the comparison, so the comparison can fail.
  const defects: Readonly<Record<string, (filter: object) => Verdict>> = {
    'a table whose list of fields is not asked': (filter) =>
      tested(filter, { ...table, fields: [] }),
    'a table whose schema is not asked': (filter) =>
      tested(filter, { ...table, schema: undefined }),
    'dots that are read in one way only': (filter) => tested(filter, table, 50, inOneWay),
    'arrays in arrays that are not opened': (filter) => tested(filter, table, 50, shallow),
    'words compared as whole values': (filter) => tested(filter, table, 50, unsplit),
    'a null that is a value': (filter) => tested(filter, table, 50, withoutNulls),
  }
  for (const [what, test] of Object.entries(defects)) {
    it(`differs from an index by ${what}`, () => {
      const found = FILTERS.find((one) => stringify(test(one)) !== stringify(indexed(one)))

      expect(found).to.not.equal(undefined)
    })
  }

  it('decides a field that the table has not decided by the values of each document', () => {
    const undecided = { schema: undefined, fields: [] }

    expect(tested({ min: 6, field: 'mixed' }, undecided)).to.deep.equal(['a01'])
    expect(tested({ match: 'SEA', field: 'mixed' }, undecided)).to.deep.equal(['a02'])
    expect(tested({ must_not: { query: 'mixed:>6' } }, undecided)).to.not.include('a01')
    expect(tested({ min: 'a', field: 'mixed' }, undecided)).to.equal('refused')
  })

  it('reads a long document by its parts', () => {
    const long = `{"pad":"${'x'.repeat(100_000)}","a.b":1,"a":{"b":[2,{"c":3}],"d":4},"_type":"none"}`
    const passes = (filter: object) =>
      runAtOnce(open(filter, table).test([{ key: Buffer.from('k'), json: Buffer.from(long) }]))

    expect(passes({ term: 1, field: 'a.b' })).to.deep.equal([true])
    expect(passes({ term: 2, field: 'a.b' })).to.deep.equal([true])
    expect(passes({ term: 3, field: 'a.b.c' })).to.deep.equal([true])
    expect(passes({ term: 4, field: 'a.b' })).to.deep.equal([false])
  })

  it('refuses what stored documents do not have, and shapes of too many positions', () => {
    const ring = Array.from({ length: 1001 }, (_, i) => [Math.cos(i / 200), Math.sin(i / 200)])
    const shape = { type: 'Polygon', coordinates: [[...ring, ring[0]]] }

    expect(tested({ match: 'x', field: '_chunks.near._content' }, table)).to.equal('refused')
    expect(tested({ geometry: { shape, relation: 'within' }, field: 'area' }, table)).to.equal(
      'refused',
    )
  })

  function indexed(filter: object): Verdict {
    return verdict(() => {
      const conditions = { ...NO_CONDITIONS, filter: queryOf(filter) }
      const window = { kind: 'first', limit: 100 } as const
      const { hits } = index.search({ ...EVERYTHING, conditions, window })
      return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
    })
  }
})

function tested(
  filter: object,
  table: TestedTable,
  batch = 50,
  change: (document: JsonObject) => JsonObject = (document) => document,
): Verdict {
  return verdict(() => {
    const tester = open(filter, table)
    const documents = STORED.map(([key, document]) => ({
      key: Buffer.from(key),
      json: Buffer.from(stringifyExact(change(document))),
    }))
    const passed: boolean[] = []
    for (let at = 0; at < documents.length; at += batch) {
      passed.push(...runAtOnce(tester.test(documents.slice(at, at + batch))))
    }
    return KEYS.filter((_, at) => passed[at])
  })
}

function open(filter: object, table: TestedTable): DocumentTester {
  return runAtOnce(DocumentTester.open(table, { ...NO_CONDITIONS, filter: queryOf(filter) }))
}

function queryOf(filter: object) {
  return parseQuery(parseExact(JSON.stringify(filter)), 'filter_query')
}

function verdict(ask: () => readonly string[]): Verdict {
  try {
    return ask()
  } catch (error) {
    if (isServiceError(error) && error.code === 'INVALID_ARGUMENT') return 'refused'
    throw error
  }
}

function objectOf(text: string): JsonObject {
  const value = parseExact(text)
  if (!isJsonObject(value)) throw new Error('not an object')
  return value
}

const stringify = (value: unknown): string => JSON.stringify(value)

/** A member of a dotted name hides the members in each other. */
function inOneWay(document: JsonObject): JsonObject {
  const hidden = Object.keys(document).flatMap((name) => name.split('.').slice(0, -1))
  return Object.fromEntries(Object.entries(document).filter(([name]) => !hidden.includes(name)))
}

function shallow(document: JsonObject): JsonObject {
  const entries = Object.entries(document).map(([name, value]) => {
    const isList = Array.isArray(value)
    return [name, isList ? value.filter((element) => !Array.isArray(element)) : value] as const
  })
  return Object.fromEntries(entries)
}

function unsplit(document: JsonObject): JsonObject {
  const text = JSON.stringify(document).replaceAll(/(?<=[a-zа-я]) (?=[a-zа-я])/g, '')
  return objectOf(text)
}

function withoutNulls(document: JsonObject): JsonObject {
  return objectOf(stringifyExact(document).replaceAll('null', '"null"'))
}
