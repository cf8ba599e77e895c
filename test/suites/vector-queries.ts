// Queries for vectors and hybrid queries, against what a comparison with every vector finds.

import { expect } from 'chai'
import type { QueryRequest, QueryResult } from '../../clients/typescript/src/contract/store.v1.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { seededRandom } from '../../lib/random.ts'
import { errorOf } from '../support/error-of.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'

const DIMENSION = 8
const COUNT = 300
const random = seededRandom(5)
const VECTORS = Array.from({ length: COUNT }, () =>
  Array.from({ length: DIMENSION }, () => Math.fround(random() - 0.5)),
)
const keyOf = (i: number): string => `doc-${String(i).padStart(3, '0')}`
const WORDS = ['river', 'island', 'harbour', 'meadow']

function inserts(): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    VECTORS.map((vector, i) => {
      const text = `${WORDS[i % 4]} ${i % 3 === 0 ? 'old' : 'new'}`
      return [keyOf(i), { text, n: i, _embeddings: { near: vector, turned: vector } }]
    }),
  )
}

function squared(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, one, i) => sum + (one - (b[i] ?? 0)) ** 2, 0)
}

const anyDocument = (i: number): boolean => i < COUNT

/** The keys of the documents that pass, the nearest first. */
function expected(to: readonly number[], limit: number, passes = anyDocument): string[] {
  return VECTORS.map((vector, i) => ({ i, distance: squared(vector, to) }))
    .filter(({ i }) => passes(i))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ i }) => keyOf(i))
}

const idsOf = ({ hits }: QueryResult): string[] => hits.hits.map(({ _id: id }) => id)

/** Indexes of vectors, wherever the store runs. */
export function describeVectorQueries(place: StorePlace): void {
  describe(`queries for vectors, of ${place.name}`, () => {
    let running: StoreUnderTest
    let store: StoreClient
    const [sought = [], other = []] = VECTORS

    before(async () => {
      running = await place.open()
      store = new StoreClient({ baseUrl: running.api })
      const external = { type: 'embeddings', external: true, dimension: DIMENSION } as const
      const indexes = {
        near: external,
        turned: { ...external, distance_metric: 'cosine' as const },
      }
      await store.createTable('places', { split_keys: ['doc-150'], indexes })
      await store.batchWrite('places', { inserts: inserts(), sync_level: 'full_index' })
    })

    after(async () => {
      await running[Symbol.asyncDispose]()
    })

    const messageOf = async (request: QueryRequest): Promise<string> =>
      String(await errorOf(() => ask(request)))
    const ask = (request: QueryRequest): Promise<QueryResult> => store.queryTable('places', request)

    it('find the nearest documents of all shards, with their distances', async () => {
      const result = await ask({ embeddings: { near: sought }, limit: 12, search_effort: 1 })

      expect(idsOf(result)).to.deep.equal(expected(sought, 12))
      const [first, second] = result.hits.hits
      expect(first).to.deep.include({ _id: keyOf(0), _index_scores: { near: 0 } })
      const distance = VECTORS.map((one) => squared(one, sought)).toSorted((a, b) => a - b)[1]
      expect(second?.['_index_scores']?.['near']).to.be.closeTo(distance ?? NaN, 1e-6)
      expect(first?.['_source']).to.deep.equal({ text: 'river old', n: 0 })
    })

    it('take a vector in base64 as in numbers', async () => {
      const packed = Buffer.from(Float32Array.from(other).buffer).toString('base64')

      const result = await ask({ embeddings: { near: packed }, limit: 5 })

      expect(idsOf(result)).to.deep.equal(expected(other, 5))
    })

    const filters: Readonly<Record<string, readonly [QueryRequest, (i: number) => boolean]>> = {
      'half of the documents': [{ filter_query: { min: 150, field: 'n' } }, (i) => i >= 150],
      'a word': [{ filter_query: { match: 'harbour', field: 'text' } }, (i) => i % 4 === 2],
      'all but a word': [{ exclusion_query: { match: 'old', field: 'text' } }, (i) => i % 3 !== 0],
      'a prefix': [{ filter_prefix: Buffer.from('doc-29').toString('base64') }, (i) => i >= 290],
      'one document': [{ filter_query: { ids: [keyOf(77)] } }, (i) => i === 77],
      nothing: [{ filter_query: { match_none: {} } }, () => false],
    }
    for (const [name, [filter, passes]] of Object.entries(filters)) {
      it(`find the nearest among those that pass a filter: ${name}`, async () => {
        const result = await ask({
          ...filter,
          embeddings: { near: sought },
          limit: 7,
          search_effort: 1,
        })

        expect(idsOf(result)).to.deep.equal(expected(sought, 7, passes))
      })
    }

    it('keep what is within distances', async () => {
      const all = VECTORS.map((one) => squared(one, sought)).toSorted((a, b) => a - b)
      const [under = 0, over = 0] = [all[9], all[3]]
      const bounds = { distance_under: under + 1e-6, distance_over: over - 1e-6 }

      const result = await ask({ embeddings: { near: sought }, limit: 50, ...bounds })

      expect(idsOf(result)).to.deep.equal(expected(sought, 10).slice(3))
    })

    it('find what is like a document, by its stored vectors, without itself', async () => {
      const result = await ask({ similar_to: { key: keyOf(1) }, indexes: ['near'], limit: 6 })

      expect(idsOf(result)).to.deep.equal(expected(other, 7).slice(1))
    })

    it('merge words and vectors as rrf does', async () => {
      const full_text_search = { match: 'meadow', field: 'text' } as const
      const merge_config = { strategy: 'rrf', window_size: 20 } as const
      const words = await ask({ full_text_search, limit: 20 })
      const vectors = await ask({ embeddings: { near: sought }, limit: 20 })
      const scores = new Map<string, number>()
      for (const list of [idsOf(words), idsOf(vectors)]) {
        for (const [i, id] of list.entries()) {
          scores.set(id, (scores.get(id) ?? 0) + 1 / (60 + i + 1))
        }
      }
      const fused = [...scores].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))

      const result = await ask({
        full_text_search,
        embeddings: { near: sought },
        merge_config,
        profile: true,
      })

      expect(idsOf(result)).to.deep.equal(fused.slice(0, 10).map(([id]) => id))
      expect(result.hits.total).to.equal(COUNT / 4)
      expect(result.profile?.merge).to.deep.include({ full_text_hits: 20, semantic_hits: 20 })
    })

    it('page through one window', async () => {
      const request = { embeddings: { near: sought }, merge_config: { window_size: 30 }, limit: 10 }
      const pages: string[] = []
      for (const offset of [0, 10, 20]) pages.push(...idsOf(await ask({ ...request, offset })))

      expect(pages).to.deep.equal(expected(sought, 30))
    })

    it('merge several indexes of vectors, weighed by name', async () => {
      const embeddings = { near: sought, turned: other }
      const weights = { near: 0, turned: 1 }

      const result = await ask({ embeddings, merge_config: { strategy: 'rsf', weights }, limit: 1 })

      expect(idsOf(result)).to.deep.equal([keyOf(1)])
      expect(result.hits.hits[0]?.['_score']).to.equal(1)
    })

    it('count over the windows', async () => {
      const aggregations = { most: { type: 'max', field: 'n' }, all: { type: 'count', field: 'n' } } as const // prettier-ignore

      const result = await ask({ embeddings: { near: sought }, aggregations, limit: 5 })

      const numbers = expected(sought, 5).map((key) => Number(key.slice(4)))
      expect(result.aggregations).to.deep.equal({
        most: { value: Math.max(...numbers) },
        all: { value: 5 },
      })
    })

    it('draw the vectors of the hits', async () => {
      const result = await ask({
        embeddings: { near: sought },
        fields: ['n', '_embeddings.near'],
        analyses: { pca: true, tsne: true },
        limit: 5,
      })

      const source = result.hits.hits[0]?.['_source']
      expect(source).to.deep.equal({ n: 0, _embeddings: { near: sought } })
      const { ids, pca, tsne } = result.analyses?.['near'] ?? {}
      expect(ids).to.deep.equal(expected(sought, 5))
      expect(pca).to.have.lengthOf(10)
      expect(tsne).to.have.lengthOf(10)
    })

    it('answer vectors to those who name them, alone or beside the document', async () => {
      const request = { embeddings: { near: sought }, limit: 1 }
      const alone = await ask({ ...request, fields: ['_embeddings'] })
      const without = await ask({ ...request, fields: ['text'] })

      const both = { near: sought, turned: sought }
      expect(alone.hits.hits[0]?.['_source']).to.deep.equal({ _embeddings: both })
      expect(without.hits.hits[0]?.['_source']).to.deep.equal({ text: 'river old' })
    })

    it('follow deletes and new vectors', async () => {
      const gone = [keyOf(0)]
      const far = Array.from({ length: DIMENSION }, () => 9)
      await store.batchWrite('places', { deletes: gone, sync_level: 'full_index' })
      const without = await ask({ embeddings: { near: sought }, limit: 3 })
      const moved = { [keyOf(1)]: { text: 'moved', n: 1, _embeddings: { near: far } } }
      await store.batchWrite('places', { inserts: moved, sync_level: 'full_index' })
      const found = await ask({ embeddings: { near: far }, limit: 1 })
      const old = await ask({ embeddings: { near: other }, limit: COUNT })

      expect(idsOf(without)).to.deep.equal(expected(sought, 3, (i) => i > 0))
      expect(idsOf(found)).to.deep.equal([keyOf(1)])
      expect(idsOf(old).at(-1)).to.equal(keyOf(1))
    })

    it('are refused by name for what the indexes do not have', async () => {
      expect(await messageOf({ semantic_search: 'sea', indexes: ['near'] })).to.include(
        'semantic_search: index "near" is external',
      )
      expect(await messageOf({ embeddings: { near: [1, 2] } })).to.include(
        'embeddings.near: has 2 numbers, and the vectors of the index have 8',
      )
      expect(await messageOf({ embeddings: { turned: Array(DIMENSION).fill(0) } })).to.include(
        'embeddings.turned: is all zeros',
      )
      expect(await messageOf({ indexes: ['far'] })).to.include('there are full_text_index_v0, near')
      expect(await messageOf({ similar_to: { key: 'none' }, indexes: ['near'] })).to.include(
        'similar_to.key: index "near" of table "places" has no vector of "none"',
      )
    })

    it('filter by the documents where the table has no full-text index', async () => {
      await store.dropIndex('places', 'full_text_index_v0')

      const request = {
        embeddings: { near: sought },
        filter_query: { min: 290, field: 'n' },
        limit: 4,
      }
      const result = await ask(request)
      const words = await errorOf(() => ask({ ...request, full_text_search: { match: 'a' } }))

      expect(idsOf(result)).to.deep.equal(expected(sought, 4, (i) => i >= 290))
      expect(String(words)).to.include('has no full_text index to search')
    })
  })
}
