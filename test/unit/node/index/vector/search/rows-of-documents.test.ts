// Documents of one row, of some, and of hundreds, against a comparison with every row: written, written again with
// another count of rows, deleted, and searched in every way, while the index flushes and merges.

import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { OrdinalGatherer, type OrdinalSet } from '../../../../../../node/index/host/ordinal-set.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { whyUnavailable } from '../../../../../../node/index/vector/graph/graph-libraries.ts'
import type { NearestRequest } from '../../../../../../node/index/vector/vector-search.ts'
import {
  putVectors,
  removeDocument,
  type GivenRow,
} from '../../../../../support/worlds/vector-documents.ts'
import { PLAIN_DISTANCES, VectorWorld } from '../../../../../support/worlds/vector-world.ts'

const DIMENSION = 8
const KEYS = 60
const ROUNDS = 240
/** One document has more rows than all others together, and they are near to what is sought. */
const CROWD = 1500
const LIMITS = {
  ...defaultRowsIndexLimits,
  tailRowsMax: 700,
  mergePolicy: {
    graphRowsMin: 200,
    settledGraphRowsMin: 200,
    tierCount: 2,
    listedRowsMin: 64,
    rowsMax: 100_000,
    deletedRatioMax: 0.2,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}

type Form = Pick<DenseIndexSettings, 'engine' | 'quantization' | 'metric'>
const FORMS: readonly Form[] = [
  { engine: 'exact', quantization: 'f32', metric: 'l2_squared' },
  { engine: 'usearch', quantization: 'f32', metric: 'l2_squared' },
  { engine: 'usearch', quantization: 'f16', metric: 'cosine' },
  { engine: 'usearch', quantization: 'i8', metric: 'cosine' },
  { engine: 'faiss', quantization: 'f32', metric: 'inner_product' },
]

interface Known {
  readonly ordinal: number
  readonly rows: readonly GivenRow[]
}

interface Expected {
  readonly key: string
  readonly distance: number
  readonly row: number
}

/** An index, and what is in it. */
class ComparedIndex implements Disposable {
  readonly world: VectorWorld
  readonly documents = new Map<string, Known>()
  readonly #random = seededRandom(41)
  readonly #settings: DenseIndexSettings
  #nextOrdinal = 0

  constructor(form: Form) {
    this.#settings = { dimension: DIMENSION, ...form }
    this.world = new VectorWorld({ settings: this.#settings, limits: LIMITS })
  }

  below(end: number): number {
    return Math.floor(this.#random() * end)
  }

  vector(spread = 1): Float32Array {
    return Float32Array.from({ length: DIMENSION }, () => 1 + (this.#random() - 0.5) * spread)
  }

  put(key: string, count: number, spread?: number): void {
    const ordinal = this.documents.get(key)?.ordinal ?? this.#nextOrdinal++
    const rows = Array.from({ length: count }, (_, i) => {
      return { start: i * 100, end: i * 100 + 120, vector: this.vector(spread) }
    })
    this.documents.set(key, { ordinal, rows })
    this.world.apply(putVectors({ key, ordinal, rows }))
  }

  remove(key: string): void {
    this.documents.delete(key)
    this.world.apply(removeDocument(key))
  }

  /** One write or delete; now and then the index works on its files. */
  change(): void {
    const key = `k${this.below(KEYS)}`
    const counts = [1, 2, 3, 5, 8, 40, 300]
    if (this.below(5) === 0) this.remove(key)
    else this.put(key, counts[this.below(counts.length)] ?? 1)
    if (this.below(6) === 0) this.world.engine.maintain()
  }

  /** By the nearest row of each document. */
  expected(vector: Float32Array, more: Partial<NearestRequest>, passes: Passes): Expected[] {
    const distanceOf = PLAIN_DISTANCES[this.#settings.metric]
    const { limit = 10, distanceUnder = Infinity, distanceOver = -Infinity } = more
    return [...this.documents]
      .filter(([, { ordinal }]) => passes(ordinal))
      .map(([key, { rows }]) => {
        const distances = rows.map((row) => distanceOf(vector, row.vector))
        const distance = Math.min(...distances)
        return { key, distance, row: distances.indexOf(distance) }
      })
      .filter(({ distance }) => distance <= distanceUnder && distance >= distanceOver)
      .toSorted((a, b) => a.distance - b.distance)
      .slice(0, limit)
  }

  filterOf(passes: Passes): OrdinalSet {
    const gatherer = new OrdinalGatherer()
    const ordinals = [...this.documents.values()].map(({ ordinal }) => ordinal)
    for (const ordinal of ordinals.filter(passes)) gatherer.add(ordinal)
    return runAtOnce(gatherer.finish())
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]()
  }
}

type Passes = (ordinal: number) => boolean
const everything: Passes = () => true

/** The same documents, by the same rows, at the same distances but for rounding. */
function compare(index: ComparedIndex, more: Partial<NearestRequest>, passes = everything): void {
  const vector = index.vector(0.2)
  const filter = passes === everything ? {} : { filter: index.filterOf(passes) }
  const wanted = index.expected(vector, more, passes)

  const { hits } = index.world.nearest(vector, { effort: 1, ...more, ...filter })

  expect(hits.map(({ key }) => Buffer.from(key).toString())).to.deep.equal(
    wanted.map(({ key }) => key),
  )
  for (const [i, { row, start, end, distance }] of hits.entries()) {
    expect(row).to.equal(wanted[i]?.row)
    expect([start, end]).to.deep.equal([row * 100, row * 100 + 120])
    expect(distance).to.be.closeTo(wanted[i]?.distance ?? NaN, 1e-5)
  }
}

function compareAll(index: ComparedIndex): void {
  const [near = 0, middle = 0, far = 0] = index
    .expected(index.vector(0.2), { limit: KEYS + 1 }, everything)
    .filter((_, i) => i % 10 === 3)
    .map(({ distance }) => distance)
  compare(index, {})
  compare(index, { limit: 1 })
  compare(index, { limit: KEYS + 1 })
  compare(index, { limit: 20, distanceUnder: middle })
  compare(index, { limit: 5, distanceOver: near, distanceUnder: far })
  compare(index, { limit: 10 }, (ordinal) => ordinal % 2 === 0)
  compare(index, { limit: 3 }, (ordinal) => ordinal % 9 === 4)
}

for (const form of FORMS) {
  const settings = { dimension: DIMENSION, ...form }
  if (whyUnavailable(settings) !== undefined) continue // the library of faiss is built on some machines alone

  describe(`documents of many rows, in ${form.engine} with ${form.quantization}`, function () {
    this.timeout(60_000)

    it('are found once, by the nearest row that they have now', () => {
      using index = new ComparedIndex(form)

      for (let round = 1; round <= ROUNDS; round += 1) {
        index.change()
        if (round % 40 === 0) compareAll(index)
      }
      index.world.settle()
      compareAll(index)
    })

    it('leave room for others, though one of them has all of the nearest rows', () => {
      using index = new ComparedIndex(form)
      for (let n = 0; n < KEYS; n += 1) index.put(`k${n}`, 2)
      index.put('crowd', CROWD, 0.1)
      compareAll(index)

      index.world.settle()
      compareAll(index)
      index.put('crowd', 3)
      compareAll(index)
      index.world.settle()
      index.remove('crowd')
      compareAll(index)
    })
  })
}
