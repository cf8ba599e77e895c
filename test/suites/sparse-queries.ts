// Queries for sparse vectors, against what a comparison with every vector finds.

import { expect } from 'chai'
import type { QueryRequest, QueryResult } from '../../clients/typescript/src/contract/store.v1.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { seededRandom } from '../../lib/random.ts'
import { errorOf } from '../support/error-of.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { plainProduct, randomSparse, sparse } from '../support/worlds/sparse-world.ts'
import type { SparseVector } from '../../node/index/vector/vector-search.ts'

const COUNT = 300
const random = seededRandom(11)
const vectorAt = (): SparseVector => randomSparse(random, { vocabulary: 400, terms: 12 })
const VECTORS = Array.from({ length: COUNT }, vectorAt)
const QUERY = vectorAt()
const keyOf = (i: number): string => `doc-${String(i).padStart(3, '0')}`
const base64 = (numbers: Float32Array | Uint32Array): string =>
  Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString('base64')

type WrittenForm = NonNullable<QueryRequest['embeddings']>[string]
type WriteForm = (vector: SparseVector) => WrittenForm

/** All forms in which clients write a sparse vector. */
const FORMS: Readonly<Record<string, WriteForm>> = {
  'indices and values': ({ terms, weights }) => ({ indices: [...terms], values: [...weights] }),
  'packed indices and values': ({ terms, weights }) => {
    return { packed_indices: base64(terms), packed_values: base64(weights) }
  },
  'weights by term': ({ terms, weights }) =>
    Object.fromEntries([...terms].map((term, at) => [term, weights[at] ?? 0])),
}
const forms = Object.values(FORMS)
const formOf = (i: number, vector: SparseVector): WrittenForm =>
  forms[i % forms.length]?.(vector) ?? {}

function allInserts(): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    VECTORS.map((vector, i) => {
      const text = i % 3 === 0 ? 'an old river' : 'a new river'
      return [keyOf(i), { text, n: i, _embeddings: { words: formOf(i, vector), near: [i, 0] } }]
    }),
  )
}

const anyDocument = (i: number): boolean => i < COUNT

/** The keys of the documents that pass with their products, the largest first. */
function expected(to: SparseVector, limit: number, passes = anyDocument): [string, number][] {
  return VECTORS.map((vector, i) => ({ i, product: plainProduct(to, vector) }))
    .filter(({ i, product }) => product > 0 && passes(i))
    .toSorted((a, b) => b.product - a.product || a.i - b.i)
    .slice(0, limit)
    .map(({ i, product }) => [keyOf(i), product])
}

const idsOf = ({ hits }: QueryResult): string[] => hits.hits.map(({ _id: id }) => id)
const productsOf = ({ hits }: QueryResult): [string, number][] =>
  hits.hits.map(({ _id: id, _index_scores: scores }) => [id, scores?.['words'] ?? NaN])
const keysOf = (found: readonly (readonly [string, number])[]): string[] => found.map(([id]) => id)

/** Indexes of sparse vectors, wherever the store runs. */
export function describeSparseQueries(place: StorePlace): void {
  describe(`queries for sparse vectors, of ${place.name}`, () => {
    let running: StoreUnderTest
    let store: StoreClient

    before(async () => {
      running = await place.open()
      store = new StoreClient({ baseUrl: running.api })
      const external = { type: 'embeddings', external: true } as const
      const indexes = {
        words: { ...external, sparse: true },
        near: { ...external, dimension: 2 },
      }
      await store.createTable('terms', { split_keys: ['doc-150'], indexes })
      await store.batchWrite('terms', { inserts: allInserts(), sync_level: 'full_index' })
    })

    after(async () => {
      await running[Symbol.asyncDispose]()
    })

    const ask = (request: QueryRequest): Promise<QueryResult> => store.queryTable('terms', request)
    const write = async (words: unknown): Promise<string> => {
      const inserts = { bad: { _embeddings: { words } } }
      return String(await errorOf(() => store.batchWrite('terms', { inserts })))
    }
    const messageOf = async (request: QueryRequest): Promise<string> =>
      String(await errorOf(() => ask(request)))
    const sought = { embeddings: { words: formOf(0, QUERY) } }

    for (const [name, form] of Object.entries(FORMS)) {
      it(`find the largest inner products of all shards, exactly: ${name}`, async () => {
        const result = await ask({ embeddings: { words: form(QUERY) }, limit: 20 })

        expect(productsOf(result)).to.deep.equal(expected(QUERY, 20))
        expect(result.hits.hits[0]?.['_score']).to.equal(1 / 61)
      })
    }

    const filters: Readonly<Record<string, readonly [QueryRequest, (i: number) => boolean]>> = {
      'half of the documents': [{ filter_query: { min: 150, field: 'n' } }, (i) => i >= 150],
      'all but a word': [{ exclusion_query: { match: 'old', field: 'text' } }, (i) => i % 3 !== 0],
      'a prefix': [{ filter_prefix: Buffer.from('doc-29').toString('base64') }, (i) => i >= 290],
      nothing: [{ filter_query: { match_none: {} } }, () => false],
    }
    for (const [name, [filter, passes]] of Object.entries(filters)) {
      it(`find them among those that pass a filter: ${name}`, async () => {
        const result = await ask({ ...filter, ...sought, limit: 7 })

        expect(productsOf(result)).to.deep.equal(expected(QUERY, 7, passes))
      })
    }

    it('find what is like a document, without itself', async () => {
      const own = VECTORS[5] ?? sparse({})

      const result = await ask({ similar_to: { key: keyOf(5) }, indexes: ['words'], limit: 6 })

      expect(productsOf(result)).to.deep.equal(expected(own, 6, (i) => i !== 5))
    })

    it('are merged with words and dense vectors, larger products first', async () => {
      const window = { window_size: 30 }
      const alone = await ask({
        ...sought,
        merge_config: { strategy: 'rsf', ...window },
        limit: 30,
      })
      const products = expected(QUERY, 30)
      const [best = 0, worst = 0] = [products[0]?.[1], products.at(-1)?.[1]]
      const scores = products.map(([, product]) => (product - worst) / (best - worst))
      const all = await ask({
        embeddings: { words: formOf(1, QUERY), near: [7, 0] },
        full_text_search: { match: 'old', field: 'text' },
        merge_config: { weights: { words: 1000, near: 1, full_text: 0 }, ...window },
        limit: 5,
        profile: true,
      })

      expect(keysOf(productsOf(alone))).to.deep.equal(keysOf(products))
      for (const [i, { _score: score }] of alone.hits.hits.entries()) {
        expect(score).to.be.closeTo(scores[i] ?? NaN, 1e-12)
      }
      expect(idsOf(all)).to.deep.equal(keysOf(expected(QUERY, 5)))
      expect(all.profile?.merge).to.deep.include({ full_text_hits: 30, semantic_hits: 60 })
    })

    it('come before words with failover, and are pruned', async () => {
      const request = {
        ...sought,
        full_text_search: { match: 'old', field: 'text' },
        merge_config: { strategy: 'failover', window_size: 20 },
      } as const
      const result = await ask({ ...request, limit: 20 })
      const pruned = await ask({ ...request, pruner: { min_absolute_score: 1 / 64 }, limit: 20 })

      expect(idsOf(result)).to.deep.equal(keysOf(expected(QUERY, 20)))
      expect(idsOf(pruned)).to.deep.equal(keysOf(expected(QUERY, 4)))
    })

    it('show vectors as weights by term', async () => {
      const result = await ask({ ...sought, fields: ['_embeddings.words'], limit: 1 })

      const [key = ''] = keysOf(expected(QUERY, 1))
      const vector = VECTORS[Number(key.slice(4))] ?? sparse({})
      const words = FORMS['weights by term']?.(vector)
      expect(result.hits.hits[0]?.['_source']).to.deep.equal({ _embeddings: { words } })
    })

    const refusals: Readonly<Record<string, readonly [QueryRequest, string]>> = {
      'a dense vector': [{ embeddings: { words: [1, 2] } }, 'embeddings.words: is dense'],
      'a sparse vector for dense ones': [{ embeddings: { near: { '1': 1 } } }, 'embeddings.near: is sparse'], // prettier-ignore
      'a negative weight': [{ embeddings: { words: { '1': -2 } } }, 'has the weight -2 for term 1'],
      'no weight above 0': [{ embeddings: { words: { '1': 0 } } }, 'has no weight above 0'],
      'an empty vector': [{ embeddings: { words: { indices: [], values: [] } } }, 'embeddings.words: must have at least one number'], // prettier-ignore
      'a term twice': [{ embeddings: { words: { indices: [1, 1], values: [1, 1] } } }, 'has the term id 1 twice'], // prettier-ignore
      'too many terms': [
        {
          embeddings: { words: Object.fromEntries(Array.from({ length: 4097 }, (_, i) => [i, 1])) },
        },
        'embeddings.words: has 4097 terms, and a sparse vector may have 4096',
      ],
      'a bound of distances': [
        { ...sought, distance_under: 3 },
        'distance_under: bounds distances',
      ],
      'another bound': [{ ...sought, distance_over: 3 }, 'distance_over: bounds distances'],
      'a text': [{ semantic_search: 'sea', indexes: ['words'] }, 'index "words" is external'],
      'a picture': [
        { ...sought, fields: ['_embeddings.words'], analyses: { pca: true } },
        'analyses: draws dense vectors, and those of index "words" are sparse',
      ],
    }
    for (const [name, [request, message]] of Object.entries(refusals)) {
      it(`are refused by name: ${name}`, async () => {
        expect(await messageOf(request)).to.include(message)
      })
    }

    it('refuse documents by name whose vectors nothing could find', async () => {
      expect(await write({ '7': -1 })).to.include(
        '_embeddings["words"] has the weight -1 for term 7',
      )
      expect(await write({ '7': 0 })).to.include('_embeddings["words"] has no weight above 0')
      expect(await write([1, 2])).to.include('_embeddings["words"] is dense')
      expect(await write({ '7': 'NaN' })).to.include('must be a number')
    })

    it('follow deletes and new vectors', async () => {
      const gone = expected(QUERY, 2)
      const [first = '', second = ''] = keysOf(gone)
      await store.batchWrite('terms', { deletes: [first], sync_level: 'full_index' })
      const moved = { _embeddings: { words: { '999999': 2 } } }
      await store.batchWrite('terms', { inserts: { [second]: moved }, sync_level: 'full_index' })

      const found = await ask({ embeddings: { words: { '999999': 3 } }, limit: 5 })
      const left = await ask({ ...sought, limit: 5 })

      const keys = keysOf(gone)
      expect(productsOf(found)).to.deep.equal([[second, 6]])
      expect(productsOf(left)).to.deep.equal(expected(QUERY, 5, (i) => !keys.includes(keyOf(i))))
    })
  })
}
