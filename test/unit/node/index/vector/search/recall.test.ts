// What searches find of what an exact comparison finds. Every vector has its own document, and its cluster is
// its number modulo the number of clusters.

import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import type { DenseIndexSettings, Quantization } from '../../../../../../node/embedding/settings.ts'
import { METRICS } from '../../../../../../node/embedding/settings.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { OrdinalGatherer, type OrdinalSet } from '../../../../../../node/index/host/ordinal-set.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { whyUnavailable } from '../../../../../../node/index/vector/graph/graph-libraries.ts'
import type { NearestRequest } from '../../../../../../node/index/vector/vector-search.ts'
import { putVectors, removeDocument } from '../../../../../support/worlds/vector-documents.ts'
import {
  Clusters,
  PLAIN_DISTANCES,
  VectorWorld,
} from '../../../../../support/worlds/vector-world.ts'

const DIMENSION = 32
const DOCUMENTS = 8000
const CLUSTERS = 40
const QUERIES = 20
const LIMIT = 10
const RECALL_MIN = 0.95

const COSINE_F16: DenseIndexSettings = {
  dimension: DIMENSION,
  metric: 'cosine',
  engine: 'usearch',
  quantization: 'f16',
}

/** One graph of almost all documents, and a tail. */
const LIMITS = {
  ...defaultRowsIndexLimits,
  tailRowsMax: 3000,
  mergePolicy: {
    graphRowsMin: 2000,
    settledGraphRowsMin: 2000,
    tierCount: 3,
    listedRowsMin: 64,
    rowsMax: 100_000,
    deletedRatioMax: 0.2,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}

/** The documents of an index, as this test knows them. */
class KnownIndex implements Disposable {
  readonly world: VectorWorld
  readonly vectors = new Map<number, Float32Array>()
  readonly #settings: DenseIndexSettings
  readonly #clusters: Clusters

  constructor(settings: DenseIndexSettings, documents: number) {
    this.#settings = settings
    const random = seededRandom(23)
    this.#clusters = new Clusters(random, { dimension: DIMENSION, count: CLUSTERS, spread: 0.4 })
    this.world = new VectorWorld({ settings, limits: LIMITS })
    for (let n = 0; n < documents; n += 1) this.put(n)
    this.world.settle()
  }

  put(n: number): void {
    const vector = this.#clusters.vector(n)
    this.vectors.set(n, vector)
    this.world.apply(putVectors({ key: `k${n}`, ordinal: n, rows: [{ vector }] }))
  }

  remove(n: number): void {
    this.vectors.delete(n)
    this.world.apply(removeDocument(`k${n}`))
  }

  query(cluster: number): Float32Array {
    return this.#clusters.vector(cluster)
  }

  /** The share of the nearest documents, among those that pass, that searches find. */
  recall(
    passes: (n: number) => boolean = () => true,
    isFiltered = false,
    more: Partial<NearestRequest> = {},
  ): number {
    const distanceOf = PLAIN_DISTANCES[this.#settings.metric]
    const passing = [...this.vectors].filter(([n]) => passes(n))
    const filter = isFiltered ? ordinalsOf(passing.map(([n]) => n)) : undefined
    let [found, wanted] = [0, 0]
    for (let q = 0; q < QUERIES; q += 1) {
      const query = this.query(q)
      const nearest = passing
        .map(([n, vector]) => ({ key: `k${n}`, distance: distanceOf(query, vector) }))
        .toSorted((a, b) => a.distance - b.distance)
        .slice(0, LIMIT)
      const keys = new Set(this.world.keys(query, { limit: LIMIT, filter, ...more }))
      found += nearest.filter(({ key }) => keys.has(key)).length
      wanted += nearest.length
    }
    return found / wanted
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]()
  }
}

function ordinalsOf(ordinals: readonly number[]): OrdinalSet {
  const gatherer = new OrdinalGatherer()
  for (const ordinal of ordinals) gatherer.add(ordinal)
  return runAtOnce(gatherer.finish())
}

describe('the nearest of many vectors', function () {
  this.timeout(120_000)

  for (const metric of METRICS) {
    it(`are found by ${metric}`, () => {
      using index = new KnownIndex({ ...COSINE_F16, metric }, DOCUMENTS / 2)

      expect(index.recall()).to.be.at.least(RECALL_MIN)
    })
  }

  const quantizations: readonly Quantization[] = ['f32', 'i8', 'binary']
  for (const quantization of quantizations) {
    it(`are found in graphs of ${quantization}`, () => {
      using index = new KnownIndex({ ...COSINE_F16, quantization }, DOCUMENTS / 2)

      expect(index.recall()).to.be.at.least(RECALL_MIN)
    })
  }

  for (const quantization of ['i8', 'binary'] as const) {
    it(`are nearly all found in graphs of ${quantization} with effort 1, and fewer with less`, () => {
      using index = new KnownIndex({ ...COSINE_F16, quantization }, DOCUMENTS)
      const byEffort = (effort: number): number => index.recall(() => true, false, { effort })

      const recalls = [0, 0.5, 1].map(byEffort)

      expect(recalls[2]).to.be.at.least(0.99)
      expect(recalls[0]).to.be.below(recalls[1] ?? 0)
      expect(recalls[1]).to.be.at.most(recalls[2] ?? 0)
    })

    it(`are found in graphs of ${quantization} by as many candidates as a query asks for`, () => {
      using index = new KnownIndex({ ...COSINE_F16, quantization }, DOCUMENTS)
      const by = (oversampling: number): number => {
        return index.recall(() => true, false, { effort: 0, oversampling })
      }

      const recalls = [1, 5, 100].map(by)

      expect(recalls).to.deep.equal(recalls.toSorted((a, b) => a - b))
      expect(recalls[0]).to.be.below(recalls[2] ?? 0)
      expect(recalls[2]).to.be.at.least(0.98)
    })
  }

  const FAISS = { ...COSINE_F16, engine: 'faiss' } as const
  if (whyUnavailable(FAISS) === undefined) {
    it('are found in graphs of faiss', () => {
      using index = new KnownIndex(FAISS, DOCUMENTS / 2)

      expect(index.recall()).to.be.at.least(RECALL_MIN)
    })
  }

  describe('with a filter', () => {
    let index: KnownIndex
    before(() => {
      index = new KnownIndex(COSINE_F16, DOCUMENTS)
    })
    after(() => index[Symbol.dispose]())

    const filters: Readonly<Record<string, (n: number) => boolean>> = {
      'that a half passes': (n) => n % 2 === 0,
      'that a tenth passes': (n) => Math.floor(n / CLUSTERS) % 10 === 3,
      'that a hundredth passes': (n) => Math.floor(n / CLUSTERS) % 100 === 3,
      'that a thousandth passes': (n) => n % 1000 === 3,
      // Queries are of all clusters: the vectors next to most of them do not pass.
      'that passes other clusters than those of the queries': (n) => n % CLUSTERS === CLUSTERS - 1,
      'that passes one cluster but for a few': (n) => n % CLUSTERS === 5 && n > DOCUMENTS / 20,
      'that passes all but one cluster': (n) => n % CLUSTERS !== 7,
    }
    for (const [name, passes] of Object.entries(filters)) {
      it(`are found ${name}`, () => {
        expect(index.recall(passes, true)).to.be.at.least(RECALL_MIN)
      })
    }

    it('are as many as there are', () => {
      const filter = ordinalsOf([1, 5, 7999, 50_000])

      const { hits, total } = index.world.nearest(index.query(0), { filter })

      expect(hits.map(({ ordinal }) => ordinal)).to.have.members([1, 5, 7999])
      expect(total).to.equal(3)
    })
  })

  it('are found as in a fresh index when every second vector was replaced or deleted', () => {
    using index = new KnownIndex(COSINE_F16, DOCUMENTS / 2)
    for (let n = 0; n < DOCUMENTS / 2; n += 2) {
      if (n % 4 === 0) index.put(n)
      else index.remove(n)
    }
    index.world.settle()

    const { total } = index.world.nearest(index.query(0))

    expect(total).to.equal(index.vectors.size)
    expect(index.recall()).to.be.at.least(RECALL_MIN)
  })
})
