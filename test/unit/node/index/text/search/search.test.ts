import { expect } from 'chai'
import * as fc from 'fast-check'
import { isServiceError } from '../../../../../../lib/errors.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import { parseQueryRequest } from '../../../../../../node/query/request/query-request.ts'
import type { JsonObject } from '../../../../../../node/document/exact-json.ts'
import type { SortKey } from '../../../../../../node/query/request/query-cursor.ts'
import { compareHits } from '../../../../../../node/index/text/search/hit-order.ts'
import type {
  TextHit,
  TextSearchRequest,
} from '../../../../../../node/index/text/search/text-search.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

/** A request as the coordinator makes it of a body. */
function requestOf(body: JsonObject, more: Partial<TextSearchRequest> = {}): TextSearchRequest {
  const { fullText: query, filter, exclusion, ...rest } = parseQueryRequest(body)
  const conditions = { query, filter, exclusion, keyPrefix: rest.keyPrefix }
  const { order, aggregations } = rest
  const window = { kind: 'first', limit: rest.page.limit } as const
  return { ...EVERYTHING, conditions, order, aggregations, window, ...more }
}

const keyOf = ({ key }: { readonly key: Uint8Array }): string => Buffer.from(key).toString()
const keysOf = (hits: readonly TextHit[]): readonly string[] => hits.map(keyOf)

function refusalOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (isServiceError(error)) return `${error.code}: ${error.message}`
    throw error
  }
  return 'nothing was refused'
}

const BOOKS = {
  a: { title: 'Sea charts of the north', price: 12, tags: ['sea', 'map'] },
  b: { title: 'The sea', price: 7, tags: ['sea'] },
  c: { title: 'Mountain roads', price: 30, tags: ['map'] },
  d: { title: 'Untold', note: 'no price' },
}

const phraseOf = (match_phrase: string, fuzziness: number | 'auto') =>
  requestOf({ full_text_search: { match_phrase, field: 'title', fuzziness } })

describe('a text search of one shard', () => {
  const books = new MemoryTextIndex(BOOKS)

  it('finds every document without conditions, in the order of keys', () => {
    const { hits, total } = books.search(EVERYTHING)

    expect(keysOf(hits)).to.deep.equal(['a', 'b', 'c', 'd'])
    expect(total).to.equal(4)
  })

  it('scores by the query and filters without scoring', () => {
    const body = {
      full_text_search: { query: 'sea' },
      filter_query: { min: 10, field: 'price' },
      exclusion_query: { term: 'road', field: 'title' },
    }

    const { hits, total, maxScore } = books.search(requestOf(body))

    expect(keysOf(hits)).to.deep.equal(['a'])
    expect(total).to.equal(1)
    expect(maxScore).to.equal(hits[0]?.score)
  })

  it('filters by the first bytes of keys', () => {
    const body = { filter_prefix: Buffer.from('b').toString('base64') }

    expect(keysOf(books.search(requestOf(body)).hits)).to.deep.equal(['b'])
  })

  it('orders by a field with the documents without one last', () => {
    const order_by = [{ field: 'price', desc: true }]

    expect(keysOf(books.search(requestOf({ order_by })).hits)).to.deep.equal(['c', 'a', 'b', 'd'])
  })

  it('warns about fields that no document has, and matches nothing by them', () => {
    const { hits, warnings } = books.search(requestOf({ full_text_search: { query: 'isbn:7' } }))

    expect(hits).to.deep.equal([])
    expect(warnings).to.deep.equal(['no document has a field "isbn"'])
  })

  it('names the keyword sub-field when a text is to be sorted or aggregated', () => {
    const schema = {
      default_type: 'book',
      document_schemas: {
        book: {
          schema: {
            type: 'object',
            properties: {
              title: { type: 'string', 'x-service-types': ['text', 'keyword'] },
              plain: { type: 'string', 'x-service-types': ['text'] },
            },
          },
        },
      },
    }
    const index = new MemoryTextIndex({}, parseTableSchema(schema, undefined))

    const sorted = refusalOf(() => index.search(requestOf({ order_by: [{ field: 'title' }] })))
    const aggregations = { t: { type: 'terms', field: 'plain' } }
    const aggregated = refusalOf(() => index.search(requestOf({ aggregations })))

    expect(sorted).to.equal(
      'INVALID_ARGUMENT: field "title" is text and cannot be sorted by: name its keyword sub-field "title.keyword"',
    )
    expect(aggregated).to.equal(
      'INVALID_ARGUMENT: field "plain" is text and cannot be aggregated: add "keyword" to its x-service-types and name the sub-field "plain.keyword"',
    )
  })

  it('finds phrases of misspelt words, in the order of the words', () => {
    expect(keysOf(books.search(phraseOf('see chart', 1)).hits)).to.deep.equal(['a'])
    expect(keysOf(books.search(phraseOf('sea chatrs', 'auto')).hits)).to.deep.equal(['a'])
    expect(books.search(phraseOf('sea chatrs', 0)).total).to.equal(0)
    expect(books.search(phraseOf('charts see', 1)).total).to.equal(0)
    expect(books.search(phraseOf('zzz charts', 2)).total).to.equal(0)
  })

  it('finds documents with a field of any type', () => {
    const withField = (field: string) =>
      keysOf(books.search(requestOf({ query: { exists: { field } } })).hits)

    expect(withField('price')).to.deep.equal(['a', 'b', 'c'])
    expect(withField('note')).to.deep.equal(['d'])
    expect(withField('tags.keyword')).to.deep.equal(['a', 'b', 'c'])
    expect(
      keysOf(books.search(requestOf({ filter_query: { query: 'price:*' } })).hits),
    ).to.deep.equal(['a', 'b', 'c'])
  })
})

function pagesOf(index: MemoryTextIndex, base: TextSearchRequest, kind: 'after' | 'before') {
  const everything = index.search({ ...base, window: { kind: 'first', limit: 1000 } }).hits
  const edge = kind === 'after' ? everything[0] : everything.at(-1)
  const found = edge === undefined ? [] : [edge]
  for (let at = edge; at !== undefined;) {
    const position = { values: at.sortValues, key: at.key }
    const { hits } = index.search({ ...base, window: { kind, position, limit: 2 } })
    found[kind === 'after' ? 'push' : 'unshift'](...hits)
    at = kind === 'after' ? hits.at(-1) : hits[0]
  }
  return { everything: keysOf(everything), found: keysOf(found) }
}

const hit = (value: number | string | undefined) => ({ key: Buffer.from('k'), sortValues: [value] })

describe('cursors of a text search', () => {
  const document = fc.record(
    {
      n: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.array(fc.integer({ min: 0, max: 3 }))),
      k: fc.constantFrom('x', 'y', 'z'),
      t: fc.constantFrom('one', 'one two', 'two two'),
    },
    { requiredKeys: [] },
  )
  const documents = fc.dictionary(
    fc.string({ minLength: 1, maxLength: 3, unit: 'grapheme' }),
    document,
  )
  const order = fc
    .uniqueArray(fc.constantFrom('n', 'k.keyword', '_score', '_id'), { minLength: 1, maxLength: 3 })
    .chain((fields) =>
      fc.tuple(
        ...fields.map((field) => fc.boolean().map((isDescending) => ({ field, isDescending }))),
      ),
    )

  for (const kind of ['after', 'before'] as const) {
    it(`gives every document once, page ${kind} page, in any order`, () => {
      fc.assert(
        fc.property(documents, order, (written, keys: SortKey[]) => {
          const index = new MemoryTextIndex({ '~': { n: 1, k: 'x', t: 'one' }, ...written })
          const base = requestOf({ full_text_search: { query: 't:one OR *' } }, { order: keys })

          const { everything, found } = pagesOf(index, base, kind)

          expect(found).to.deep.equal(everything)
          expect(everything.length).to.equal(Object.keys(written).length + ('~' in written ? 0 : 1))
        }),
        { numRuns: 60 },
      )
    })
  }

  it('has the scores of a page backwards too', () => {
    const index = new MemoryTextIndex(BOOKS)
    const body = { full_text_search: { query: 'sea roads' }, order_by: [{ field: 'price' }] }
    const base = requestOf(body)
    const { hits } = index.search(base)
    const last = hits.at(-1)
    if (last === undefined) throw new Error('there are hits')
    const position = { values: last.sortValues, key: last.key }

    const back = index.search({ ...base, window: { kind: 'before', position, limit: 10 } })

    expect(back.hits).to.deep.equal(hits.slice(0, -1))
    expect(back.total).to.equal(3)
  })

  it('pages backwards through several segments as forwards', () => {
    const written = Object.entries(BOOKS).flatMap(([key, book]) =>
      Array.from({ length: 9 }, (_, i) => [`${key}${i}`, { ...book, rank: i % 4 }] as const),
    )
    const index = new MemoryTextIndex()
    for (const part of [written.slice(0, 10), written.slice(10, 25), written.slice(25)]) {
      index.write(Object.fromEntries(part))
      index.index.flush()
    }
    index.write({ late: { title: 'A late sea', rank: 2 } })
    const orders: readonly SortKey[][] = [
      [{ field: '_score', isDescending: true }],
      [
        { field: 'rank', isDescending: true },
        { field: '_score', isDescending: false },
      ],
      [{ field: 'tags.keyword', isDescending: false }],
    ]

    for (const keys of orders) {
      const base = requestOf({ full_text_search: { query: 'sea roads OR *' } }, { order: keys })
      const { everything, found } = pagesOf(index, base, 'before')

      expect(everything).to.have.lengthOf(37)
      expect(found).to.deep.equal(everything)
    }
  })

  it('continues behind its position while documents change', () => {
    const written = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`d${i}`, { n: i }]))
    const index = new MemoryTextIndex(written)
    const base = requestOf({}, { order: [{ field: 'n', isDescending: false }] })
    const found: string[] = []
    let window: TextSearchRequest['window'] = { kind: 'first', limit: 7 }
    for (let round = 0; ; round += 1) {
      const { hits } = index.search({ ...base, window })
      const last = hits.at(-1)
      if (last === undefined) break
      found.push(...keysOf(hits))
      window = { kind: 'after', position: { values: last.sortValues, key: last.key }, limit: 7 }
      // In front of the position, and the position itself.
      index.write({ [`new${round}`]: { n: -round } }, [keyOf(last)])
    }

    expect(found).to.deep.equal(Object.keys(written))
  })

  it('compares hits of shards that disagree about the type of a field', () => {
    const keys: SortKey[] = [{ field: 'x', isDescending: false }]

    expect(compareHits(keys, hit(1), hit('a'))).to.be.lessThan(0)
    expect(compareHits(keys, hit('a'), hit(1))).to.be.greaterThan(0)
    expect(compareHits(keys, hit(undefined), hit('a'))).to.be.greaterThan(0)
  })
})
