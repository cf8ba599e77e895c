import { expect } from 'chai'
import * as fc from 'fast-check'
import type { JsonObject } from '../../../../../../node/document/exact-json.ts'
import { geohashOf } from '../../../../../../node/geo/geohash.ts'
import { DistinctCounter } from '../../../../../../node/index/text/aggregation/distinct-counter.ts'
import {
  aggregationResults,
  type AggregationResult,
} from '../../../../../../node/index/text/aggregation/aggregation-result.ts'
import { mergePartials } from '../../../../../../node/index/text/aggregation/merge-partials.ts'
import { significanceOf } from '../../../../../../node/index/text/aggregation/significant-terms.ts'
import { parseAggregations } from '../../../../../../node/query/request/aggregation-request.ts'
import { parseTableSchema, type TableSchema } from '../../../../../../node/schema/table-schema.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

interface Item extends JsonObject {
  readonly n?: number | readonly number[]
  readonly k?: string | readonly string[]
}

const SCHEMA: TableSchema = parseTableSchema(
  {
    default_type: 'item',
    document_schemas: {
      item: {
        schema: {
          type: 'object',
          properties: {
            n: { type: 'number' },
            k: { type: 'string', 'x-service-types': ['text', 'keyword'] },
            at: { type: 'string', 'x-service-types': ['datetime'] },
            place: { type: 'object', 'x-service-types': ['geopoint'] },
          },
        },
      },
    },
  },
  undefined,
)
const NO_STATISTICS = { fields: new Map(), docFreqs: new Map(), expansions: new Map() }

/** Over as many shards as there are lists, as a coordinator does it. */
function aggregate(
  shards: readonly (readonly JsonObject[])[],
  request: JsonObject,
  statistics: typeof NO_STATISTICS | undefined = NO_STATISTICS,
): AggregationResult | undefined {
  const aggregations = parseAggregations({ it: request }, 'aggregations')
  const partials = shards.map((documents, shard) => {
    const keyed = documents.map((document, i) => [`${shard}/${i}`, document] as const)
    const index = new MemoryTextIndex(Object.fromEntries(keyed), SCHEMA)
    return index.search({ ...EVERYTHING, aggregations, statistics }).aggregations
  })
  return aggregationResults(aggregations, mergePartials(partials), EVERYTHING.nowMs)['it']
}

function listOf<T extends string | number>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return []
  return typeof value === 'object' ? value : [value]
}

const word = fc.constantFrom('p', 'q', 'r', 's')
const item: fc.Arbitrary<Item> = fc.record(
  {
    n: fc.oneof(fc.integer({ min: -20, max: 20 }), fc.array(fc.integer({ min: -20, max: 20 }))),
    k: fc.oneof(word, fc.array(word, { maxLength: 3 })),
  },
  { requiredKeys: [] },
)
// The first makes the fields known to every shard.
const shardsOf = fc
  .array(fc.array(item, { maxLength: 20 }), { minLength: 1, maxLength: 3 })
  .map((shards) => shards.map((items): readonly Item[] => [{ n: 0, k: 'p' }, ...items]))

function bucketsBy<Key extends string | number>(
  items: readonly Item[],
  keysOf: (one: Item) => readonly Key[],
): readonly (readonly [Key, readonly Item[]])[] {
  const groups = new Map<Key, Item[]>()
  for (const one of items) {
    for (const key of new Set(keysOf(one))) groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups]
}

const sumOf = (items: readonly Item[]): number =>
  items.flatMap(({ n }) => listOf(n)).reduce((sum, value) => sum + value, 0)

describe('aggregations over shards', () => {
  it('agree with a naive computation: terms with sums below', () => {
    const request = {
      type: 'terms',
      field: 'k.keyword',
      size: 3,
      sub_aggregations: { total: { type: 'sum', field: 'n' } },
    }
    fc.assert(
      fc.property(shardsOf, (shards) => {
        const all = bucketsBy(shards.flat(), ({ k }) => listOf(k))
          .toSorted(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1))
          .map(([key, items]) => ({
            key,
            doc_count: items.length,
            sub_aggregations: { total: { value: sumOf(items) } },
          }))

        expect(aggregate(shards, request)).to.deep.equal({
          buckets: all.slice(0, 3),
          ...(all.length > 3 ? { truncated: true } : {}),
        })
      }),
      { numRuns: 60 },
    )
  })

  it('agree with a naive computation: a histogram with gaps filled', () => {
    const request = { type: 'histogram', field: 'n', interval: 7, min_doc_count: 0 }
    fc.assert(
      fc.property(shardsOf, (shards) => {
        const found = new Map(
          bucketsBy(shards.flat(), ({ n }) => listOf(n).map((value) => Math.floor(value / 7))),
        )
        const expected = []
        for (let at = Math.min(...found.keys()); at <= Math.max(...found.keys()); at += 1) {
          expected.push({ key: String(at * 7), doc_count: found.get(at)?.length ?? 0 })
        }

        expect(aggregate(shards, request)).to.deep.equal({ buckets: expected })
      }),
      { numRuns: 60 },
    )
  })

  it('agree with a naive computation: ranges, empty ones too', () => {
    const ranges = [
      { name: 'low', to: 0 },
      { name: 'middle', from: 0, to: 5 },
      { name: 'far', from: 1000 },
    ]
    fc.assert(
      fc.property(shardsOf, (shards) => {
        const expected = ranges.map(({ name, ...ends }) => {
          const { from = -Infinity, to = Infinity } = ends
          const isIn = (value: number): boolean => value >= from && value < to
          const items = shards.flat().filter(({ n }) => listOf(n).some(isIn))
          return { key: name, doc_count: items.length, ...ends }
        })

        const result = aggregate(shards, { type: 'range', field: 'n', ranges })

        expect(result).to.deep.equal({ buckets: expected })
      }),
      { numRuns: 60 },
    )
  })

  it('agree with a naive computation: stats and distinct values', () => {
    fc.assert(
      fc.property(shardsOf, (shards) => {
        const values = shards.flat().flatMap(({ n }) => listOf(n))
        const mean = sumOf(shards.flat()) / values.length
        const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length

        const stats = aggregate(shards, { type: 'stats', field: 'n' }) ?? {}
        const distinct = aggregate(shards, { type: 'cardinality', field: 'n' })
        const count = aggregate(shards, { type: 'count', field: 'k.keyword' })

        expect(stats).to.include({ count: values.length, min: Math.min(...values) })
        expect(stats).to.include({ max: Math.max(...values), sum: sumOf(shards.flat()) })
        expect(stats).to.have.property('avg').closeTo(mean, 1e-9)
        expect(stats).to.have.property('variance').closeTo(variance, 1e-9)
        expect(stats).to.have.property('std_deviation').closeTo(Math.sqrt(variance), 1e-9)
        expect(distinct).to.deep.equal({ value: new Set(values).size })
        // A keyword that a document has twice is one value of it.
        const keywords = shards.flat().flatMap(({ k }) => [...new Set(listOf(k))])
        expect(count).to.deep.equal({ value: keywords.length })
      }),
      { numRuns: 60 },
    )
  })

  it('give null for the average of no values', () => {
    const result = aggregate([[{ a: 1 }]], { type: 'avg', field: 'b' })

    expect(result).to.deep.equal({ value: null })
  })

  it('count months by the calendar, with the empty ones between', () => {
    const documents = ['2024-01-31T23:59:59Z', '2024-01-01T00:00:00Z', '2024-03-01T00:00:00Z']
    const request = {
      type: 'date_histogram',
      field: 'at',
      calendar_interval: 'month',
      min_doc_count: 0,
    }

    const result = aggregate([documents.map((at) => ({ at }))], request)

    expect(result).to.deep.equal({
      buckets: [
        { key: '1704067200000', key_as_string: '2024-01-01T00:00:00.000Z', doc_count: 2 },
        { key: '1706745600000', key_as_string: '2024-02-01T00:00:00.000Z', doc_count: 0 },
        { key: '1709251200000', key_as_string: '2024-03-01T00:00:00.000Z', doc_count: 1 },
      ],
    })
  })

  it('begin weeks on Mondays', () => {
    const request = { type: 'date_histogram', field: 'at', calendar_interval: 'week' }

    // 2024-05-12 was a Sunday.
    const result = aggregate([[{ at: '2024-05-12T12:00:00Z' }]], request)

    expect(result).to.have.nested.property('buckets[0].key_as_string', '2024-05-06T00:00:00.000Z')
  })

  it('nest to the depth that a request may have', () => {
    const leaf = { type: 'max', field: 'n' }
    const inner = { type: 'terms', field: 'k.keyword', sub_aggregations: { most: leaf } }
    const request = { type: 'histogram', field: 'n', interval: 10, sub_aggregations: { by: inner } }

    const result = aggregate([[{ n: 1, k: 'p' }], [{ n: 3, k: 'p' }]], request)

    expect(result).to.deep.equal({
      buckets: [
        {
          key: '0',
          doc_count: 2,
          sub_aggregations: {
            by: {
              buckets: [{ key: 'p', doc_count: 2, sub_aggregations: { most: { value: 3 } } }],
            },
          },
        },
      ],
    })
  })

  it('refuse more buckets than a result may have', () => {
    const request = { type: 'histogram', field: 'n', interval: 1, min_doc_count: 0 }
    const documents = [{ n: 0 }, { n: 1e12 }]

    expect(() => aggregate([documents], request)).to.throw('may have at most 65536 buckets')
  })

  it('refuse an interval that is too small for the values', () => {
    const request = { type: 'histogram', field: 'n', interval: 1e-300 }

    expect(() => aggregate([[{ n: 5 }]], request)).to.throw('interval 1e-300 is too small')
  })

  it('find the terms that are more frequent in the matches than elsewhere', () => {
    // In the worked example of Introduction to Information Retrieval, 13.5.1, "export" and "poultry".
    const shares = {
      docCount: 49,
      termBackgroundCount: 49 + 27_652,
      foundCount: 49 + 141,
      backgroundCount: 49 + 27_652 + 141 + 774_106,
    }

    expect(significanceOf('mutual_information', shares)).to.be.closeTo(0.0001105, 1e-7)
    expect(significanceOf('chi_squared', shares)).to.be.closeTo(284, 1)
  })

  it('give one shard the terms of all others for significance', () => {
    const request = { type: 'significant_terms', field: 'k.keyword', algorithm: 'percentage' }
    const aggregations = parseAggregations({ it: request }, 'aggregations')
    const shards = [
      { a: { k: 'p', n: 1 }, b: { k: 'q', n: 1 } },
      { c: { k: 'p', n: 0 }, d: { k: 'q', n: 1 } },
    ].map((documents) => new MemoryTextIndex(documents))
    const filter = {
      kind: 'numbers',
      field: 'n',
      bounds: { min: 1, max: 1, inclusiveMin: true, inclusiveMax: true },
      boost: 1,
    } as const
    const conditions = { ...EVERYTHING.conditions, filter }
    const partials = shards.map(
      (shard) =>
        shard.search({ ...EVERYTHING, conditions, aggregations, statistics: NO_STATISTICS })
          .aggregations,
    )

    const { it: result } = aggregationResults(aggregations, mergePartials(partials), 0)

    // q: in 2 of 3 found and 2 of 4 in all. p is rarer among the found than elsewhere.
    expect(result).to.deep.equal({ buckets: [{ key: 'q', doc_count: 2, score: 1, bg_count: 2 }] })
  })

  it('name geohash cells', () => {
    // The example of the original description: 57.64911, 10.40744 is u4pruydqqvj.
    expect(geohashOf(10.40744, 57.64911, 11)).to.equal('u4pruydqqvj')
  })

  it('put points into cells and rings', () => {
    const documents = [{ place: { lat: 52.5, lon: 13.4 } }, { place: { lat: 48.1, lon: 11.6 } }]
    const rings = {
      type: 'geo_distance',
      field: 'place',
      origin: '52.5,13.4',
      unit: 'km',
      distance_ranges: [
        { name: 'near', to: 10 },
        { name: 'far', from: 10 },
      ],
    }

    const grid = aggregate([documents], { type: 'geohash_grid', field: 'place', precision: 2 })
    const distances = aggregate([documents], rings)

    expect(grid).to.deep.equal({
      buckets: [
        { key: 'u2', doc_count: 1 },
        { key: 'u3', doc_count: 1 },
      ],
    })
    expect(distances).to.deep.equal({
      buckets: [
        { key: 'near', doc_count: 1, to: 10_000 },
        { key: 'far', doc_count: 1, from: 10_000 },
      ],
    })
  })

  it('estimate many distinct values within two percent', () => {
    const [left, right] = [new DistinctCounter(), new DistinctCounter()]
    for (let i = 0; i < 120_000; i += 1) left.add(i)
    for (let i = 100_000; i < 200_000; i += 1) right.add(i)
    const partial = right.partial()

    if (partial.kind === 'sketch') left.addSketch(partial.registers)

    expect(partial.kind).to.equal('sketch')
    expect(left.count()).to.be.closeTo(200_000, 4000)
  })
})
