import { expect } from 'chai'
import { pointPart } from '../../../../../../node/geo/shape.ts'
import { isIndexRequest } from '../../../../../../node/index/kinds/index-request.ts'
import type { TextQuestions } from '../../../../../../node/index/text/search/text-questions.ts'
import type { AggregationRequest } from '../../../../../../node/query/request/aggregation-request.ts'
import type { Query } from '../../../../../../node/query/query-tree.ts'

const field = 'title'
const boost = 1
const all: Query = { kind: 'all', boost }
const point = { lon: 13.4, lat: 52.5 }
const bounds = { inclusiveMin: true, inclusiveMax: false }
const fuzzy = { fuzziness: 'auto', prefixLength: 1 } as const

const QUERIES: Readonly<Record<Query['kind'], Query>> = {
  all,
  none: { kind: 'none', boost },
  term: { kind: 'term', field, term: 'fox', boost },
  match: {
    kind: 'match',
    field,
    text: 'a fox',
    operator: 'or',
    ...fuzzy,
    analyzer: 'english',
    boost,
  },
  phrase: {
    kind: 'phrase',
    field,
    text: 'a fox',
    slop: 2,
    fuzziness: 0,
    analyzer: undefined,
    boost,
  },
  'phrase-terms': {
    kind: 'phrase-terms',
    field,
    positions: [['a', 'the'], ['fox']],
    slop: 0,
    boost,
  },
  fuzzy: { kind: 'fuzzy', field, term: 'fxo', ...fuzzy, boost },
  prefix: { kind: 'prefix', field: undefined, prefix: 'fo', boost },
  wildcard: { kind: 'wildcard', field, pattern: 'f*x', boost },
  regexp: { kind: 'regexp', field, pattern: 'f.x', boost },
  numbers: { kind: 'numbers', field, bounds: { ...bounds, min: -Infinity, max: 1.5 }, boost },
  terms: { kind: 'terms', field, bounds: { ...bounds, min: 'a', max: undefined }, boost },
  dates: { kind: 'dates', field, bounds: { ...bounds, min: 0, max: undefined }, boost },
  'untyped-range': {
    kind: 'untyped-range',
    field,
    bounds: { ...bounds, min: '1', max: '2' },
    boost,
  },
  bool: { kind: 'bool', field, value: true, boost },
  ip: { kind: 'ip', field, cidr: '10.0.0.0/8', boost },
  'any-of': { kind: 'any-of', field, values: ['a', '1'], boost },
  exists: { kind: 'exists', field, boost },
  ids: { kind: 'ids', ids: ['a'], boost },
  boolean: {
    kind: 'boolean',
    must: [all],
    should: [all],
    minShould: 1,
    mustNot: [],
    filter: [],
    boost,
  },
  'geo-box': { kind: 'geo-box', field, topLeft: point, bottomRight: point, boost },
  'geo-distance': { kind: 'geo-distance', field, centre: point, metres: 10, boost },
  'geo-polygon': { kind: 'geo-polygon', field, points: [point], boost },
  'geo-shape': { kind: 'geo-shape', field, shape: [pointPart(point)], relation: 'within', boost },
  simple: { kind: 'simple', text: 'fox', fields: [{ name: field, boost: 2 }], boost },
  'multi-match': { kind: 'multi-match', fields: [field], text: 'fox', fuzziness: 1, boost },
}

const sub = new Map()
const sized = { size: 10, minDocCount: 1, sub }
const ranges = [{ name: 'low', from: undefined, to: 3 }]
const dates = [{ name: 'recent', from: { kind: 'from-now', offsetMs: -5 }, to: undefined }] as const

const AGGREGATIONS: Readonly<Record<AggregationRequest['kind'], AggregationRequest>> = {
  metric: { kind: 'metric', metric: 'sum', field },
  terms: { kind: 'terms', fields: [field], ...sized },
  range: { kind: 'range', field, ranges, sub },
  'date-range': { kind: 'date-range', field, ranges: dates, sub },
  histogram: { kind: 'histogram', field, interval: 5, minDocCount: 0, sub },
  'date-histogram': {
    kind: 'date-histogram',
    field,
    interval: { kind: 'calendar', unit: 'month' },
    minDocCount: 1,
    sub: new Map([['inner', { kind: 'metric', metric: 'avg', field }]]),
  },
  'geohash-grid': { kind: 'geohash-grid', field, precision: 5, ...sized },
  'geo-distance': { kind: 'geo-distance', field, origin: point, ranges, sub },
  'significant-terms': {
    kind: 'significant-terms',
    fields: [field],
    ...sized,
    algorithm: 'jlh',
    background: all,
  },
}

const conditions = {
  query: all,
  filter: undefined,
  exclusion: undefined,
  keyPrefix: Buffer.from('k'),
}
const REQUESTS: { readonly [Name in keyof TextQuestions]: TextQuestions[Name]['request'] } = {
  search: {
    conditions,
    order: [{ field: '_score', isDescending: true }],
    window: {
      kind: 'after',
      position: {
        values: [1, 'a', undefined, { decimal: '9007199254740993' }],
        key: Buffer.from('k'),
      },
      limit: 3,
    },
    aggregations: new Map(Object.entries(AGGREGATIONS)),
    statistics: {
      fields: new Map([[field, { docCount: 1, totalLength: 2 }]]),
      docFreqs: new Map([['title\0fox', 1]]),
      expansions: new Map<string, readonly string[] | 'too-many'>([
        ['a', ['b']],
        ['c', 'too-many'],
      ]),
    },
    nowMs: 0,
  },
  statistics: { conditions },
  select: { conditions, nowMs: 5 },
  highlight: {
    query: all,
    highlight: { fields: undefined, pre: '<', post: '>' },
    documents: [Buffer.from('{}')],
  },
  suggest: { query: all },
}

const accepts = (question: string, request: unknown, kind = 'text'): boolean =>
  isIndexRequest({ kind, question, request })

/** The value with one of its members gone or changed, for each. */
function* spoilt(value: object): Generator<object> {
  for (const name of Object.keys(value)) {
    if (name !== 'exact') yield { ...value, [name]: Symbol.iterator }
  }
}

describe('requests that the text engine can read', () => {
  for (const [question, request] of Object.entries(REQUESTS)) {
    it(`are those of ${question}, with all members of their types`, () => {
      expect(accepts(question, request)).to.equal(true)
      for (const changed of spoilt(request)) expect(accepts(question, changed)).to.equal(false)
    })
  }

  for (const [kind, query] of Object.entries(QUERIES)) {
    it(`have queries of the kind ${kind}, with all members of their types`, () => {
      expect(accepts('suggest', { query })).to.equal(true)
      for (const changed of spoilt(query)) {
        expect(accepts('suggest', { query: changed })).to.equal(false)
      }
    })
  }

  for (const [kind, aggregation] of Object.entries(AGGREGATIONS)) {
    it(`have aggregations of the kind ${kind}, with all members of their types`, () => {
      for (const changed of spoilt(aggregation)) {
        const aggregations = new Map([['a', changed]])
        expect(accepts('search', { ...REQUESTS.search, aggregations })).to.equal(false)
      }
    })
  }

  it('are not those of other questions and kinds, of later versions, or nothing', () => {
    for (const request of [undefined, null, 5, {}, [], { query: { kind: 'neural', boost } }]) {
      expect(accepts('suggest', request)).to.equal(false)
    }
    expect(accepts('embed', REQUESTS.suggest)).to.equal(false)
    expect(accepts('suggest', REQUESTS.suggest, 'vector')).to.equal(false)
    expect(accepts('suggest', REQUESTS.suggest, '__proto__')).to.equal(false)
  })
})
