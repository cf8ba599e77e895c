import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { send } from '../contract/api-harness.ts'

const BOOKS = '/api/v1/tables/books'
const SCHEMA = {
  default_type: 'book',
  document_schemas: {
    book: {
      schema: {
        type: 'object',
        'x-service-include-in-all': ['title'],
        properties: {
          title: { type: 'string', 'x-service-types': ['text', 'keyword', 'search_as_you_type'] },
          secret: { type: 'string', 'x-service-types': ['text'], 'x-service-index': false },
          tags: { type: 'array', items: { type: 'string', 'x-service-types': ['keyword'] } },
          price: { type: 'number' },
          at: { type: 'string', 'x-service-types': ['datetime'] },
        },
      },
    },
  },
}

const INSERTS = {
  'b:1': { title: 'Sea charts of the north', price: 12, tags: ['sea', 'map'], at: '2024-01-05' },
  'b:2': { title: 'The seaside cook', price: 7, tags: ['food'], at: '2024-02-01' },
  'n:1': { title: 'Northern roads', price: 30, tags: ['map'], at: '2024-02-20' },
  'n:2': { title: 'Charts and roads of the sea', price: 9, tags: ['sea', 'map'] },
}

interface Found {
  readonly hits: { readonly hits: readonly Record<string, unknown>[] }
}

const idsOf = ({ hits }: Found): readonly unknown[] => hits.hits.map((hit) => hit['_id'])

/** Queries over HTTP, wherever the store runs. */
export function describeQueries(place: StorePlace): void {
  describe(`queries over HTTP, of ${place.name}`, () => {
    let store: StoreUnderTest

    before(async () => {
      store = await place.open()
      await ask(BOOKS, { split_keys: ['m'], schema: SCHEMA })
      const written = await ask(`${BOOKS}/batch`, { inserts: INSERTS, sync_level: 'full_text' })
      expect(written.status).to.equal(201)
    })

    after(async () => {
      await store[Symbol.asyncDispose]()
    })

    async function ask(at: string, body: unknown) {
      const sent = { method: 'POST', path: at, body: JSON.stringify(body) }
      const { status, body: text } = await send(store.api, sent)
      return { status, value: JSON.parse(text) }
    }

    async function query(body: unknown) {
      const { status, value } = await ask(`${BOOKS}/query`, body)
      expect(status, JSON.stringify(value)).to.equal(200)
      return value.responses[0]
    }

    it('find words, phrases and beginnings in every shard', async () => {
      const words = await query({ full_text_search: { query: 'sea' }, profile: true })
      const phrase = await query({
        full_text_search: { match_phrase: 'sea charts', field: 'title' },
      })
      const typed = await query({
        full_text_search: {
          multi_match: { query: 'nort', fields: ['title._2gram'], type: 'bool_prefix' },
        },
      })

      expect(idsOf(words)).to.have.members(['b:1', 'n:2'])
      expect(words.profile.shards).to.deep.equal({ total: 2, successful: 2, failed: 0 })
      expect(words.hits.total).to.equal(2)
      expect(idsOf(phrase)).to.deep.equal(['b:1'])
      expect(idsOf(typed)).to.have.members(['b:1', 'n:1'])
    })

    it('filter, sort, page, project and highlight', async () => {
      const base = {
        full_text_search: { query: 'title:charts title:roads' },
        filter_query: {
          conjuncts: [
            { term: 'map', field: 'tags' },
            { min: 9, field: 'price' },
          ],
        },
        order_by: [{ field: 'price', desc: true }],
        fields: ['price'],
        highlight: { fields: ['title'] },
        limit: 2,
      }
      const first = await query(base)
      const next = await query({ ...base, search_after: first.hits.hits[1]['_sort'] })

      expect(idsOf(first)).to.deep.equal(['n:1', 'b:1'])
      expect(idsOf(next)).to.deep.equal(['n:2'])
      expect(next.hits.total).to.equal(3)
      expect(next.hits.hits[0]['_source']).to.deep.equal({ price: 9 })
      expect(next.hits.hits[0]['_highlight']).to.deep.equal({
        title: ['<em>Charts</em> and <em>roads</em> of the sea'],
      })
    })

    it('highlight by default only the fields that they search', async () => {
      const { hits } = await query({
        full_text_search: { query: 'map charts OR tags:map' },
        filter_query: { ids: ['b:1'] },
        highlight: {},
      })
      const bare = await query({ full_text_search: { query: 'sea map' }, highlight: {} })

      expect(hits.hits[0]['_highlight']).to.deep.equal({
        title: ['Sea <em>charts</em> of the north'],
        tags: ['<em>map</em>'],
      })
      for (const hit of bare.hits.hits) expect(hit['_highlight']).to.have.all.keys('title')
    })

    it('aggregate over all shards', async () => {
      const tags = {
        type: 'terms',
        field: 'tags',
        sub_aggregations: { p: { type: 'avg', field: 'price' } },
      }
      const months = { type: 'date_histogram', field: 'at', calendar_interval: 'month' }

      const { aggregations } = await query({ limit: 0, aggregations: { tags, months } })

      expect(aggregations.tags.buckets).to.deep.equal([
        { key: 'map', doc_count: 3, sub_aggregations: { p: { value: 17 } } },
        { key: 'sea', doc_count: 2, sub_aggregations: { p: { value: 10.5 } } },
        { key: 'food', doc_count: 1, sub_aggregations: { p: { value: 7 } } },
      ])
      expect(
        aggregations.months.buckets.map((bucket: { doc_count: number }) => bucket.doc_count),
      ).to.deep.equal([1, 2])
    })

    it('refuse fields that are not indexed, and warn about fields that no document has', async () => {
      const refused = await ask(`${BOOKS}/query`, { full_text_search: { query: 'secret:x' } })
      const unknown = await query({ full_text_search: { query: 'isbn:x' } })

      expect(refused.status).to.equal(400)
      expect(refused.value.error).to.include('x-service-index')
      expect(unknown.hits.total).to.equal(0)
      expect(unknown.warnings).to.deep.equal(['no document has a field "isbn"'])
    })

    it('find by a wildcard that matches any number of words', async () => {
      const inserts = Object.fromEntries(
        Array.from({ length: 1500 }, (_, i) => [`w:${i}`, { title: `word${i}`, at: '2020-01-01' }]),
      )
      await ask(`${BOOKS}/batch`, { inserts, sync_level: 'full_text' })

      const found = await query({ full_text_search: { query: 'title:word*' } })
      const deletes = Object.keys(inserts)
      await ask(`${BOOKS}/batch`, { deletes, sync_level: 'full_text' })

      expect(found.hits.total).to.equal(1500)
    })

    it('run regular expressions quickly that explode in a backtracking engine', async () => {
      const filter_query = { regexp: '(n|no|nor|north)*(r+)+x', field: 'title' }

      expect((await query({ filter_query })).hits.total).to.equal(0)
    })

    it('find documents that were written before them, but not deleted ones', async () => {
      const inserts = { 'n:9': { title: 'Brand new atlas' } }
      await ask(`${BOOKS}/batch`, { inserts, sync_level: 'full_text' })
      const found = await query({ full_text_search: { query: 'atlas' } })
      await ask(`${BOOKS}/batch`, { deletes: ['n:9'] })

      expect(idsOf(found)).to.deep.equal(['n:9'])
      expect(idsOf(await query({ full_text_search: { query: 'atlas' } }))).to.deep.equal([])
    })
  })
}
