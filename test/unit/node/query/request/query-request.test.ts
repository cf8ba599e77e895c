import { expect } from 'chai'
import * as fc from 'fast-check'
import { parseExact } from '../../../../../node/document/exact-json.ts'
import { isBeyondDoubles } from '../../../../../node/document/decimal.ts'
import {
  CursorWriter,
  parseCursor,
  type SortValue,
} from '../../../../../node/query/request/query-cursor.ts'
import { parseQueryRequest } from '../../../../../node/query/request/query-request.ts'

const parse = (text: string) => parseQueryRequest(parseExact(text))
const BY_PRICE = [{ field: 'price', isDescending: true }]
const CURSOR = new CursorWriter(BY_PRICE, undefined).write([12.5], Buffer.from('book/1'))
const orderedBy = (field: string, cursor: readonly string[] = CURSOR) =>
  JSON.stringify({ order_by: [{ field, desc: true }], search_after: cursor })

const aggregation = (text: string) => parse(`{"aggregations":{"n":${text}}}`).aggregations.get('n')
const nested = (depth: number) =>
  '{"type":"terms","field":"f","sub_aggregations":{"n":'.repeat(depth - 1) +
  '{"type":"count","field":"f"}' +
  '}}'.repeat(depth - 1)

describe('parseQueryRequest', () => {
  it('asks for all documents by default, ten hits by score', () => {
    expect(parse('{}')).to.deep.equal({
      table: undefined,
      indexes: [],
      fullText: undefined,
      filter: undefined,
      exclusion: undefined,
      vectors: undefined,
      merge: undefined,
      reranker: undefined,
      analyses: undefined,
      keyPrefix: undefined,
      order: [{ field: '_score', isDescending: true }],
      page: { kind: 'offset', offset: 0, limit: 10 },
      pruner: undefined,
      countOnly: false,
      projection: undefined,
      highlight: undefined,
      aggregations: new Map(),
      aggregatesMatches: false,
      profile: false,
      suggest: false,
      queryString: undefined,
      timeoutMs: 30_000,
    })
  })

  it('reads every field', () => {
    const request = parse(
      '{"table":"t","full_text_search":{"match_all":{}},"filter_query":{"match_none":{}},' +
        '"exclusion_query":{"ids":[]},"filter_prefix":"Yjo=","order_by":[{"field":"a.b"}],' +
        '"limit":0,"offset":10000,"fields":["x","-y"],"profile":true,"suggest":true,"timeout":"1.5s",' +
        '"highlight":{"fields":["x"],"pre":"<b>","post":"</b>"}}',
    )

    expect(request).to.deep.include({
      table: 't',
      fullText: { kind: 'all', boost: 1 },
      filter: { kind: 'none', boost: 1 },
      exclusion: { kind: 'ids', ids: [], boost: 1 },
      keyPrefix: Buffer.from('b:'),
      order: [{ field: 'a.b', isDescending: false }],
      page: { kind: 'offset', offset: 10_000, limit: 0 },
      profile: true,
      suggest: true,
      timeoutMs: 1500,
      highlight: { fields: ['x'], pre: '<b>', post: '</b>' },
    })
    expect(request.projection?.included.paths.map(({ text }) => text)).to.deep.equal(['x'])
    expect(request.projection?.excluded.paths.map(({ text }) => text)).to.deep.equal(['y'])
  })

  it('reads cursors in both directions', () => {
    const position = { values: [12.5], key: Buffer.from('book/1') }

    expect(parse(orderedBy('price')).page).to.deep.equal({ kind: 'after', position, limit: 10 })
    expect(parse(orderedBy('price').replace('after', 'before')).page.kind).to.equal('before')
  })

  it('reads an order written as a map', () => {
    expect(parse('{"order_by":{"price":true,"_id":false}}').order).to.deep.equal([
      { field: 'price', isDescending: true },
      { field: '_id', isDescending: false },
    ])
  })

  const refused: Record<string, string> = {
    '[]': 'query: must be an object, not array',
    '{"x":1}': 'query: unknown field "x"; allowed here are table, full_text_search',
    '{"graph_searches":{}}': 'graph_searches: needs a graph index',
    '{"join":{}}': 'join: needs joins between tables',
    '{"full_text_search":{"query":"a:"}}':
      'full_text_search.query: query string, column 3: expected a value',
    '{"exclusion_query":{}}': 'exclusion_query: not a query',
    '{"table":5}': 'table: must be a string',
    '{"filter_prefix":"b:"}': 'filter_prefix: must be the first bytes of the keys in base64',
    '{"filter_prefix":"Yjo=="}': 'filter_prefix: must be the first bytes',
    '{"filter_prefix":"Yj"}': 'filter_prefix: must be the first bytes',
    '{"limit":10001}': 'limit: must be an integer of at least 0 and at most 10000',
    '{"limit":-1}': 'limit: must be an integer of at least 0',
    '{"offset":9999,"limit":2}': 'offset: offset and limit together may be at most 10000',
    '{"offset":"5"}': 'offset: must be an integer of at least 0',
    '{"order_by":"price"}': 'order_by: must be an array',
    '{"order_by":[{"desc":true}]}': 'order_by[0].field: must be a string',
    '{"order_by":[{"field":"a","asc":true}]}': 'order_by[0]: unknown field "asc"',
    '{"order_by":[{"field":"a"},{"field":"a"}]}': 'order_by: "a" is used twice',
    '{"order_by":{"a":"desc"}}': 'order_by.a: must be true to descend, or false',
    '{"search_after":["x"],"search_before":["x"]}':
      'search_before: cannot stand beside search_after',
    '{"search_after":["x"],"offset":0}': 'offset: cannot stand beside search_after',
    '{"search_after":[]}': 'search_after: not a cursor: hand back the _sort of a hit',
    '{"search_after":[5]}': 'search_after[0]: must be a string',
    [orderedBy('title')]: 'search_after: this cursor belongs to another order_by',
    [orderedBy('price', CURSOR.slice(1))]: 'search_after: must hold 2 strings',
    [orderedBy('price', ['n1e', CURSOR[1]!])]: 'search_after[0]: not a sort value',
    '{"count":true,"offset":1}': 'offset: has no meaning with count',
    '{"count":"yes"}': 'count: must be true or false',
    '{"fields":[]}': 'fields: must be an array of at least one field',
    '{"fields":["a..b"]}': 'fields[0]: empty segment',
    '{"highlight":{"fields":[5]}}': 'highlight.fields[0]: must be a string',
    '{"highlight":{"tags":5}}': 'highlight: unknown field "tags"',
    '{"timeout":"soon"}': 'timeout: not a duration',
    '{"timeout":"11m"}': 'timeout: may be at most 600000ms',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 70)}`, () => {
      expect(() => parse(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})

function valueOf(decimal: string): SortValue {
  return isBeyondDoubles(decimal) ? { decimal } : Number(decimal)
}

describe('parseCursor', () => {
  it('reads back what a CursorWriter wrote', () => {
    const value = fc.oneof(
      fc.double({ noNaN: true }).map((number) => number + 0 || 0),
      fc.string({ unit: 'grapheme' }),
      fc.constant(undefined),
      fc.bigInt({ min: 2n ** 53n }).map((number) => valueOf(`-${number}`)),
      fc.bigInt({ min: 2n ** 53n }).map((number) => valueOf(`${number}`)),
    )
    const key = fc.uint8Array({ minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(fc.array(value, { maxLength: 4 }), key, (values, bytes) => {
        const order = values.map((_, index) => ({ field: `f${index}`, isDescending: index > 1 }))
        const position = { values, key: Buffer.from(bytes) }
        const cursors = new CursorWriter(order, undefined)
        cursors.write(values, Buffer.from('the hit before'))
        const sent = parseExact(JSON.stringify(cursors.write(values, position.key)))
        expect(parseCursor(sent, order, 'search_after')).to.deep.equal(position)
      }),
    )
  })

  it('refuses a cursor of the other direction', () => {
    const turned = [{ field: 'price', isDescending: false }]

    expect(() => parseCursor(CURSOR, turned, 'search_after')).to.throw('another order_by')
  })
})

describe('parseQueryRequest: aggregations', () => {
  const sub = new Map()
  const cases: Record<string, object> = {
    '{"type":"sum","field":"f"}': { kind: 'metric', metric: 'sum', field: 'f' },
    '{"type":"terms","field":"f"}': {
      kind: 'terms',
      fields: ['f'],
      size: 10,
      minDocCount: 1,
      sub,
    },
    '{"type":"terms","fields":["f","g"],"size":3,"min_doc_count":0}': {
      kind: 'terms',
      fields: ['f', 'g'],
      size: 3,
      minDocCount: 0,
      sub,
    },
    '{"type":"range","field":"f","ranges":[{"name":"low","to":5}]}': {
      kind: 'range',
      field: 'f',
      ranges: [{ name: 'low', from: undefined, to: 5 }],
      sub,
    },
    '{"type":"date_range","field":"f","date_ranges":[{"name":"w","from":"now-7d","to":"2024-05-01"}]}':
      {
        kind: 'date-range',
        field: 'f',
        ranges: [
          {
            name: 'w',
            from: { kind: 'from-now', offsetMs: -7 * 86_400_000 },
            to: { kind: 'absolute', timeMs: Date.UTC(2024, 4, 1) },
          },
        ],
        sub,
      },
    '{"type":"histogram","field":"f","interval":0.5}': {
      kind: 'histogram',
      field: 'f',
      interval: 0.5,
      minDocCount: 1,
      sub,
    },
    '{"type":"date_histogram","field":"f","calendar_interval":"month"}': {
      kind: 'date-histogram',
      field: 'f',
      interval: { kind: 'calendar', unit: 'month' },
      minDocCount: 1,
      sub,
    },
    '{"type":"date_histogram","field":"f","interval":"12h"}': {
      kind: 'date-histogram',
      field: 'f',
      interval: { kind: 'fixed', ms: 43_200_000 },
      minDocCount: 1,
      sub,
    },
    '{"type":"geohash_grid","field":"f","precision":7}': {
      kind: 'geohash-grid',
      field: 'f',
      precision: 7,
      size: 10,
      minDocCount: 1,
      sub,
    },
    '{"type":"geo_distance","field":"f","origin":"1,2","unit":"km","distance_ranges":[{"name":"a","from":1,"to":2}]}':
      {
        kind: 'geo-distance',
        field: 'f',
        origin: { lat: 1, lon: 2 },
        ranges: [{ name: 'a', from: 1000, to: 2000 }],
        sub,
      },
    '{"type":"significant_terms","field":"f","background_filter":{"match_all":{}}}': {
      kind: 'significant-terms',
      fields: ['f'],
      size: 10,
      minDocCount: 1,
      algorithm: 'jlh',
      background: { kind: 'all', boost: 1 },
      sub,
    },
    '{"type":"terms","field":"f","sub_aggregations":{"m":{"type":"max","field":"g"}}}': {
      kind: 'terms',
      fields: ['f'],
      size: 10,
      minDocCount: 1,
      sub: new Map([['m', { kind: 'metric', metric: 'max', field: 'g' }]]),
    },
  }
  for (const [text, expected] of Object.entries(cases)) {
    it(`reads ${text}`, () => {
      expect(aggregation(text)).to.deep.equal(expected)
    })
  }

  const refused: Record<string, string> = {
    '5': 'aggregations.n: must be an object, not number',
    '{"type":"median"}': 'aggregations.n.type: must be one of sum, avg',
    '{"type":"constructor"}': 'aggregations.n.type: must be one of sum',
    '{"type":"sum"}': 'aggregations.n.field: must be a string, the name of a field',
    '{"type":"sum","field":"f","size":5}': 'aggregations.n: unknown field "size"',
    '{"type":"terms","field":"f","fields":["g"]}': 'aggregations.n: has both field and fields',
    '{"type":"terms","field":"f","size":65537}': 'aggregations.n.size: must be an integer',
    '{"type":"range","field":"f","ranges":[{"name":"a","from":2,"to":1}]}':
      'aggregations.n.ranges[0]: from is above to',
    '{"type":"range","field":"f","ranges":[{"name":"a"},{"name":"a"}]}':
      'aggregations.n.ranges[1].name: "a" is used twice',
    '{"type":"date_range","field":"f","date_ranges":[{"name":"a","from":"now-7x"}]}':
      'aggregations.n.date_ranges[0].from: not a duration',
    '{"type":"histogram","field":"f","interval":0}': 'aggregations.n.interval: must be above 0',
    '{"type":"date_histogram","field":"f"}': 'aggregations.n: needs either calendar_interval',
    '{"type":"geohash_grid","field":"f","precision":13}': 'aggregations.n.precision: must be',
    [nested(6)]: 'aggregations may be nested 5 levels deep at most',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 70)}`, () => {
      expect(() => aggregation(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('reads up to the depth', () => {
    expect(aggregation(nested(5))).to.have.property('kind', 'terms')
  })
})
