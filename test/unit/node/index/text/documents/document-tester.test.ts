import { expect } from 'chai'
import { loadContract } from '../../../../../../door/contract.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { stringifyExact, type JsonObject } from '../../../../../../node/document/exact-json.ts'
import {
  FilterVerdicts,
  objectOf,
  openTester,
  type Verdict,
} from '../../../../../support/loads/filter-verdicts.ts'
import {
  FILTERED_FIELDS,
  FILTERS,
  FILTERS_BY_CLAUSE,
} from '../../../../../support/worlds/filter-world.ts'

describe('DocumentTester', () => {
  const verdicts = new FilterVerdicts()
  const { table } = verdicts
  const tested = verdicts.tested.bind(verdicts)
  const indexed = verdicts.indexed.bind(verdicts)

  it('is compared for every kind of filter of the contract', () => {
    const { DocumentFilter: schema } = loadContract('store.v1').document.components['schemas'] ?? {}
    const clauses = JSON.stringify(schema).match(/(?<=#\/components\/schemas\/)\w+Clause/g) ?? []

    expect(Object.keys(FILTERS_BY_CLAUSE).toSorted()).to.deep.equal(clauses.toSorted())
    expect(FILTERS.length).to.be.greaterThan(FILTERED_FIELDS.length * 60)
  })

  for (const [clause, filtersOf] of Object.entries(FILTERS_BY_CLAUSE)) {
    it(`passes what an index finds, in every way: ${clause}`, () => {
      for (const filter of FILTERED_FIELDS.flatMap((field) => filtersOf(field))) {
        expect(verdicts.differenceOf(filter)).to.equal(undefined)
      }
    })
  }

  it('means the same however it is written', () => {
    expect(verdicts.differenceOfSpellings()).to.equal(undefined)
  })

  // Each defect is found by the comparison, so the comparison can fail.
  const defects: Readonly<Record<string, (filter: object) => Verdict>> = {
    'a table whose list of fields is not asked': (filter) =>
      tested(filter, { table: { ...table, fields: [] } }),
    'a table whose schema is not asked': (filter) =>
      tested(filter, { table: { ...table, schema: undefined } }),
    'dots that are read in one way only': (filter) => tested(filter, { change: inOneWay }),
    'arrays in arrays that are not opened': (filter) => tested(filter, { change: shallow }),
    'words compared as whole values': (filter) => tested(filter, { change: unsplit }),
    'a null that is a value': (filter) => tested(filter, { change: withoutNulls }),
  }
  for (const [what, test] of Object.entries(defects)) {
    it(`differs from an index by ${what}`, () => {
      const found = FILTERS.find((one) => stringify(test(one)) !== stringify(indexed(one)))

      expect(found).to.not.equal(undefined)
    })
  }

  it('decides a field that the table has not decided by the values of each document', () => {
    const undecided = { table: { schema: undefined, fields: [] } }

    expect(tested({ min: 6, field: 'mixed' }, undecided)).to.deep.equal(['a01'])
    expect(tested({ match: 'SEA', field: 'mixed' }, undecided)).to.deep.equal(['a02'])
    expect(tested({ must_not: { query: 'mixed:>6' } }, undecided)).to.not.include('a01')
    expect(tested({ min: 'a', field: 'mixed' }, undecided)).to.equal('refused')
  })

  it('reads a long document by its parts', () => {
    const long = `{"pad":"${'x'.repeat(100_000)}","a.b":1,"a":{"b":[2,{"c":3}],"d":4},"_type":"none"}`
    const passes = (filter: object) =>
      runAtOnce(
        openTester(filter, table).test([{ key: Buffer.from('k'), json: Buffer.from(long) }]),
      )

    expect(passes({ term: 1, field: 'a.b' })).to.deep.equal([true])
    expect(passes({ term: 2, field: 'a.b' })).to.deep.equal([true])
    expect(passes({ term: 3, field: 'a.b.c' })).to.deep.equal([true])
    expect(passes({ term: 4, field: 'a.b' })).to.deep.equal([false])
  })

  it('refuses what stored documents do not have, and shapes of too many positions', () => {
    const ring = Array.from({ length: 1001 }, (_, i) => [Math.cos(i / 200), Math.sin(i / 200)])
    const shape = { type: 'Polygon', coordinates: [[...ring, ring[0]]] }

    expect(tested({ match: 'x', field: '_chunks.near._content' })).to.equal('refused')
    expect(tested({ geometry: { shape, relation: 'within' }, field: 'area' })).to.equal('refused')
  })
})

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
