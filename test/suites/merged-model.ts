// Merged queries against a model that compares with every document, while documents and vectors come, change and go.

import { expect } from 'chai'
import type { QueryRequest, QueryResult } from '../../clients/typescript/src/contract/store.v1.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { seededRandom } from '../../lib/random.ts'
import {
  fusedOf,
  leftOf,
  INDEX_NAMES,
  MODEL_INDEXES,
  nearestOf,
  randomDocument,
  randomVector,
  randomWord,
  writtenDocument,
  type ModelDocument,
  type IndexName,
  type ModelList,
  type Threshold,
  type Vectors,
} from '../support/models/vector-documents.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'

const KEYS = 240
const ROUNDS = 4
const QUERIES_PER_ROUND = 25
/** Sums of floats in another order differ in the last digits. */
const SCORE_DIGITS = 9

const rounded = (score: number): number => Number(score.toFixed(SCORE_DIGITS))
const scoreOf = ({ _score: score }: QueryResult['hits']['hits'][number]): number => rounded(score)

/** Whether a hit can be in a window whose search is bounded by distances. */
const isWithin =
  ({ distance_under = Infinity, distance_over = -Infinity }: Threshold = {}) =>
  ([, value]: readonly [string, number]): boolean =>
    value <= distance_under && value >= distance_over

interface Drawn {
  readonly request: QueryRequest
  readonly limit: number
  readonly words: QueryRequest | undefined
  readonly sought: Vectors
  readonly passes: (document: ModelDocument) => boolean
}

/** Merged queries over random documents (QUARRY_TEST_SEED=${seed}), wherever the store runs. */
export function describeMergedModel(place: StorePlace, { seed }: { readonly seed: number }): void {
  describe(`merged queries over random documents (QUARRY_TEST_SEED=${seed}), of ${place.name}`, () => {
    const random = seededRandom(seed)
    const documents = new Map<string, ModelDocument>()
    let running: StoreUnderTest
    let store: StoreClient

    before(async () => {
      running = await place.open()
      store = new StoreClient({ baseUrl: running.api })
      await store.createTable('merged', { split_keys: ['k080', 'k160'], indexes: MODEL_INDEXES })
    })

    after(async () => {
      await running[Symbol.asyncDispose]()
    })

    const whole = (below: number): number => Math.floor(random() * below)
    const anyOf = <One>(...all: readonly [One, ...One[]]): One => all[whole(all.length)] ?? all[0]

    async function write(): Promise<void> {
      const deletes = [...documents.keys()].filter(() => random() < 0.15)
      for (const key of deletes) documents.delete(key)
      const inserts: Record<string, Record<string, unknown>> = {}
      for (let i = 0; i < KEYS; i++) {
        const key = `k${String(i).padStart(3, '0')}`
        const known = documents.get(key)
        if (deletes.includes(key) || random() < 0.5) continue
        if (known !== undefined && random() < 0.5) {
          // Of a document that is there, one vector alone is written or removed.
          const name = anyOf('near', 'turned', 'terms')
          const { [name]: _, ...others } = known.vectors
          const vector = random() < 0.7 ? randomVector(name, random) : null
          inserts[key] = { _embeddings: { [name]: vector } }
          documents.set(key, {
            ...known,
            vectors: vector === null ? others : { ...others, [name]: vector },
          })
        } else {
          const document = randomDocument(random)
          inserts[key] = writtenDocument(document)
          documents.set(key, { ...document, vectors: { ...known?.vectors, ...document.vectors } })
        }
      }
      await store.batchWrite('merged', { inserts, deletes, sync_level: 'full_index' })
    }

    /** Distances of `near` are whole, those of `turned` from 0 to 2; `terms` have products. */
    function boundsOf(name: IndexName): Threshold {
      const autocut = anyOf({}, { autocut: anyOf(1, 2) })
      if (name === 'terms') return { ...autocut, ...anyOf({}, { min_score: whole(9) }) }
      const scale = name === 'near' ? 12 : 2
      const [over, under] = [random() * scale, random() * scale].toSorted((a, b) => a - b)
      return anyOf<Threshold>(
        autocut,
        { ...autocut, distance_under: under ?? 0 },
        { distance_under: under ?? 0, distance_over: over ?? 0 },
      )
    }

    function draw(): Drawn {
      const names = INDEX_NAMES.filter(() => random() < 0.6)
      if (names.length === 0) names.push('near')
      const embeddings: Vectors = Object.fromEntries(
        names.map((name) => [name, randomVector(name, random)]),
      )
      const limit = anyOf(1, 5, 40, 300)
      const window_size = anyOf(limit, limit + 3, 2 * limit)
      const thresholds = Object.fromEntries(names.map((name) => [name, boundsOf(name)]))
      const weights = Object.fromEntries(names.map((name) => [name, anyOf(0.5, 1, 3)]))
      const [word, from] = [randomWord(random), whole(100)]
      const [filters, passes] = anyOf<readonly [QueryRequest, Drawn['passes']]>(
        [{}, () => true],
        [{ filter_query: { min: from, field: 'n' } }, ({ n }) => n >= from],
        [{ exclusion_query: { match: word, field: 'text' } }, ({ words }) => !words.includes(word)],
      )
      const full_text_search = {
        match: `${randomWord(random)} ${randomWord(random)}`,
        field: 'text',
      }
      const words =
        random() < 0.5 ? { ...filters, full_text_search, limit: window_size } : undefined
      const full_text =
        words === undefined
          ? undefined
          : anyOf({}, { min_score: random() / 2 }, { autocut: anyOf(1, 2) })
      const merge_config = {
        strategy: anyOf('rrf' as const, 'rsf' as const),
        rank_constant: anyOf(0, 10, 60),
        window_size,
        weights,
        ...anyOf(
          {},
          { thresholds: { ...thresholds, ...(full_text && { full_text }) } },
          { autocut: anyOf(1, 1, 2) },
        ),
      }
      const request = {
        ...filters,
        ...(words && { full_text_search }),
        embeddings,
        limit,
        merge_config,
        search_effort: 1,
      }
      return { request, words, sought: embeddings, passes, limit }
    }

    async function expectedOf({
      request,
      words,
      sought,
      passes,
    }: Drawn): Promise<[string, number][]> {
      const { merge_config = {} } = request
      const { weights = {}, window_size, thresholds = {}, autocut } = merge_config
      const left = (name: string, list: ModelList): ModelList =>
        leftOf(list, { ...(autocut !== undefined && { autocut }), ...thresholds[name] })
      const lists: ModelList[] = []
      if (words !== undefined) {
        const { hits } = await store.queryTable('merged', words)
        const found = hits.hits.map(({ _id: id, _score: score }) => [id, score] as const)
        lists.push(left('full_text', { weight: 1, isDistance: false, hits: found }))
      }
      for (const name of INDEX_NAMES) {
        const to = sought[name]
        if (to === undefined) continue
        const near = nearestOf(documents, name, { to, passes })
        const hits = near.filter(isWithin(thresholds[name])).slice(0, window_size)
        lists.push(left(name, { weight: weights[name] ?? 1, isDistance: true, hits }))
      }
      return fusedOf(lists, merge_config)
    }

    for (let round = 1; round <= ROUNDS; round++) {
      it(`answer what a comparison with every document does, round ${round}`, async () => {
        await write()

        for (let i = 0; i < QUERIES_PER_ROUND; i++) {
          const drawn = draw()
          const result = await store.queryTable('merged', drawn.request)
          const expected = await expectedOf(drawn)
          const asked = JSON.stringify(drawn.request)
          const found = result.hits.hits
          // Sums that are equal but for their last digits may stand in either order.
          expect(found.map(scoreOf), asked).to.deep.equal(
            expected.slice(0, drawn.limit).map(([, score]) => rounded(score)),
          )
          const scores = new Map(expected)
          for (const hit of found) {
            const { _id: id } = hit
            const score = rounded(scores.get(id) ?? NaN)
            expect([id, scoreOf(hit)], asked).to.deep.equal([id, score])
          }
          expect(result.hits.total, asked).to.be.at.least(expected.length)
        }
      })
    }
  })
}
