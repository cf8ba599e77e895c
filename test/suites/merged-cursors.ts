// Pages of merged hits by cursors: one after the other they are the whole list.

import { expect } from 'chai'
import type { QueryRequest, QueryResult } from '../../clients/typescript/src/contract/store.v1.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { errorOf } from '../support/error-of.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'

const COUNT = 90
const WINDOW = 40
const keyOf = (i: number): string => `doc-${String(i).padStart(2, '0')}`

/** Many documents lie equally far away, and have equal words and weights: their order is that of the keys. */
function allInserts(): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    Array.from({ length: COUNT }, (_, i) => {
      const vectors = { near: [i % 7, 0], words: { '1': 1 + (i % 3), '2': 1 } }
      return [keyOf(i), { text: i % 2 === 0 ? 'old river' : 'river', n: i, _embeddings: vectors }]
    }),
  )
}

const EMBEDDINGS = { near: [0, 0], words: { '1': 1, '2': 0.5 } } as const
const RIVER = { match: 'river', field: 'text' } as const
const LIMITS = { window_size: WINDOW } as const

/** A query for each strategy, and some that leave hits out of the list. */
const QUERIES: Readonly<Record<string, QueryRequest>> = {
  rrf: { embeddings: EMBEDDINGS, full_text_search: RIVER, merge_config: LIMITS },
  rsf: {
    embeddings: EMBEDDINGS,
    full_text_search: RIVER,
    merge_config: { ...LIMITS, strategy: 'rsf', weights: { near: 2 } },
  },
  failover: {
    embeddings: EMBEDDINGS,
    full_text_search: RIVER,
    merge_config: { ...LIMITS, strategy: 'failover' },
  },
  'one index of vectors': { embeddings: { near: [0, 0] }, merge_config: LIMITS },
  'one index of sparse vectors': { embeddings: { words: { '1': 1 } }, merge_config: LIMITS },
  'a filter': {
    embeddings: EMBEDDINGS,
    filter_query: { match: 'old', field: 'text' },
    merge_config: LIMITS,
  },
  'thresholds of the lists': {
    embeddings: EMBEDDINGS,
    full_text_search: RIVER,
    merge_config: {
      ...LIMITS,
      thresholds: { near: { distance_under: 1 }, words: { min_score: 2, autocut: 2 } },
    },
  },
  'a pruner': {
    embeddings: EMBEDDINGS,
    merge_config: LIMITS,
    pruner: { require_multi_index: true },
  },
}

const firstOf = (name: string): QueryRequest => QUERIES[name] ?? {}
const idsOf = ({ hits }: QueryResult): string[] => hits.hits.map(({ _id: id }) => id)
const sortOf = ({ hits }: QueryResult, at: number): string[] => {
  const { _sort: sort = [] } = hits.hits.at(at) ?? {}
  return [...sort]
}

/** Merged pages, wherever the store runs. */
export function describeMergedCursors(place: StorePlace): void {
  describe(`cursors into merged hits, of ${place.name}`, () => {
    let running: StoreUnderTest
    let store: StoreClient

    before(async () => {
      running = await place.open()
      store = new StoreClient({ baseUrl: running.api })
      const external = { type: 'embeddings', external: true } as const
      const indexes = {
        near: { ...external, dimension: 2 },
        words: { ...external, sparse: true },
      }
      await store.createTable('pages', { split_keys: ['doc-45'], indexes })
      await store.batchWrite('pages', { inserts: allInserts(), sync_level: 'full_index' })
    })

    after(async () => {
      await running[Symbol.asyncDispose]()
    })

    const ask = (request: QueryRequest): Promise<QueryResult> => store.queryTable('pages', request)
    const messageOf = async (request: QueryRequest): Promise<string> =>
      String(await errorOf(() => ask(request)))

    for (const [name, query] of Object.entries(QUERIES)) {
      it(`are the whole list, page after page and page before page: ${name}`, async () => {
        const whole = idsOf(await ask({ ...query, limit: 1000, merge_config: { ...query.merge_config, ...LIMITS } })) // prettier-ignore
        const forward: string[] = []
        let page = await ask({ ...query, limit: 7 })
        let last = page
        while (idsOf(page).length > 0) {
          forward.push(...idsOf(page))
          last = page
          page = await ask({ ...query, limit: 7, search_after: sortOf(page, -1) })
        }
        const backward = idsOf(last).slice(-1)
        let from = sortOf(last, -1)
        while (from.length > 0) {
          const before = await ask({ ...query, limit: 7, search_before: from })
          backward.unshift(...idsOf(before))
          from = sortOf(before, 0)
        }

        expect(new Set(whole).size).to.equal(whole.length)
        expect(forward).to.deep.equal(whole)
        expect(backward).to.deep.equal(whole)
        expect(whole.length).to.be.above(2 * 7)
        expect(page.hits.total).to.equal((await ask({ ...query, limit: 7 })).hits.total)
      })
    }

    it('keep the window of the first page, and say where it ends', async () => {
      const query = { embeddings: { near: [0, 0] } }
      const first = await ask({ ...query, limit: 12 })

      const next = await ask({ ...query, limit: 100, search_after: sortOf(first, 4) })

      expect(idsOf(next)).to.deep.equal(idsOf(first).slice(5))
      expect(first.warnings).to.equal(undefined)
      expect(next.warnings?.join(' ')).to.include('the pages end with the windows of 12 hits')
    })

    it('keep a window that only the first page names', async () => {
      const query = { embeddings: { near: [0, 0] }, limit: 3 }
      const first = await ask({ ...query, merge_config: { window_size: 6 } })

      const next = await ask({ ...query, search_after: sortOf(first, 2) })

      expect(idsOf(next)).to.have.length(3)
    })

    it('continue behind their document while others are deleted', async () => {
      const query = firstOf('one index of vectors')
      const whole = idsOf(await ask({ ...query, limit: WINDOW }))
      const first = await ask({ ...query, limit: 10 })
      const gone = [whole[2] ?? '', whole[12] ?? '']
      await store.batchWrite('pages', { deletes: gone, sync_level: 'full_index' })

      const next = await ask({ ...query, limit: 10, search_after: sortOf(first, -1) })
      await store.batchWrite('pages', { deletes: idsOf(first), sync_level: 'full_index' })
      const left = await ask({ ...query, limit: 10, search_after: sortOf(first, -1) })
      await store.batchWrite('pages', { inserts: allInserts(), sync_level: 'full_index' })

      expect(idsOf(next)).to.deep.equal(whole.slice(10, 21).filter((key) => !gone.includes(key)))
      expect(idsOf(next).every((key) => whole.includes(key))).to.equal(true)
      expect(idsOf(left).length).to.equal(10)
    })

    it('are refused by name where they are of another query', async () => {
      const query = firstOf('rrf')
      const search_after = sortOf(await ask({ ...query, limit: 5 }), -1)
      const others: readonly QueryRequest[] = [
        { ...query, embeddings: { near: [1, 0] } },
        { ...query, full_text_search: { match: 'old', field: 'text' } },
        { ...query, filter_query: { match: 'old', field: 'text' } },
        { ...query, filter_prefix: 'ZG9j' },
        { ...query, pruner: { require_multi_index: true } },
        { ...query, merge_config: { ...LIMITS, rank_constant: 1 } },
        { ...query, merge_config: { ...LIMITS, weights: { near: 2 } } },
        { ...query, merge_config: { ...LIMITS, strategy: 'rsf' } },
        { ...query, merge_config: { ...LIMITS, autocut: 1 } },
        { ...query, merge_config: { ...LIMITS, thresholds: { near: { distance_under: 9 } } } },
      ]
      for (const other of others) {
        expect(await messageOf({ ...other, search_after })).to.include(
          'search_after: this cursor belongs to another query',
        )
      }
      expect(
        await messageOf({ ...query, search_after, merge_config: { window_size: 41 } }),
      ).to.include('merge_config.window_size: is not that of the cursor')
    })

    it('take another limit, projection and profile than the page before', async () => {
      const query = firstOf('rrf')
      const first = await ask({ ...query, limit: 5 })

      const search_after = sortOf(first, -1)
      const next = await ask({ ...query, limit: 3, search_after, fields: ['n'], profile: true })

      const whole = await ask({ ...query, limit: 8 })
      expect([...idsOf(first), ...idsOf(next)]).to.deep.equal(idsOf(whole))
    })

    it('are refused by name where they are of words, or damaged', async () => {
      const query = firstOf('rrf')
      const words = { full_text_search: RIVER, limit: 5 }
      const ofWords = sortOf(await ask(words), -1)
      const [score = '', where = ''] = sortOf(await ask({ ...query, limit: 5 }), -1)
      const damaged: Readonly<Record<string, readonly string[]>> = {
        'search_after: must hold 2 strings': [where],
        'not a cursor': [score, `${where.slice(0, 8)}x${where.slice(9)}`],
        'search_after: not a cursor': ['high', where],
      }

      expect(await messageOf({ ...query, search_after: ofWords })).to.include(
        'search_after: is the _sort of a hit of words alone',
      )
      expect(await messageOf({ ...words, search_before: [score, where] })).to.include(
        'search_before: is of hits that were merged',
      )
      for (const [problem, search_after] of Object.entries(damaged)) {
        expect(await messageOf({ ...query, search_after })).to.include(problem)
      }
      expect(await messageOf({ ...query, search_after: [score, where], offset: 3 })).to.include(
        'offset: cannot stand beside search_after',
      )
    })
  })
}
