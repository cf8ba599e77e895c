import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import { CoarseRows } from '../../../../../../node/index/vector/kernels/coarse-rows.ts'
import { distanceFrom } from '../../../../../../node/index/vector/kernels/distance.ts'
import { CoarseVectors } from '../../../../../../node/index/vector/segment/coarse-vectors.ts'
import {
  describeRowBatch,
  leastOfAll,
  METRICS,
  type RowBatchUnderTest,
} from '../../../../../conformance/row-batch.ts'

/** Seven bits miss a vector by about a hundredth of its length, and a query by half as much. */
const MISSED_MAX = 0.05

/** Rows that can be added to. */
class Rows {
  rowCount: number
  readonly #vectors: Float32Array
  readonly #dimension: number
  readonly #together: number

  constructor(vectors: Float32Array, dimension: number, together = Infinity) {
    this.#vectors = vectors
    this.#dimension = dimension
    this.#together = together
    this.rowCount = vectors.length / dimension
  }

  block(row: number, count: number) {
    const rowCount = Math.min(count, this.rowCount - row, this.#together)
    return { vectors: this.#vectors, at: row * this.#dimension, rowCount }
  }
}

describe('rows of seven bits a number', () => {
  const random = seededRandom(12)
  const batch = new CoarseRows()
  const numbers = (count: number): Float32Array => {
    return Float32Array.from({ length: count }, () => random() * 2 - 1)
  }

  const make = (dimension: number): RowBatchUnderTest => {
    const encoded = new WeakMap<Float32Array, CoarseVectors>()
    const add = (vectors: Float32Array, row: number): number => {
      const of = encoded.get(vectors) ?? new CoarseVectors(new Rows(vectors, dimension), dimension)
      encoded.set(vectors, of)
      return batch.add(of.block(row, vectors.length / dimension - row))
    }
    return { batch, add }
  }

  describeRowBatch(make, MISSED_MAX)

  it('are bounds where numbers of a row differ in size', () => {
    for (const metric of METRICS) {
      const [vector, rows] = [numbers(64), numbers(64 * 50)]
      for (let row = 0; row < 50; row += 1) rows[row * 64 + (row % 64)] = 1000
      const distance = distanceFrom(metric, vector)

      const least = leastOfAll(make(64), { metric, vector }, rows)

      const wrong = least.filter((bound, row) => bound > distance(rows, row * 64))
      expect(wrong, metric).to.deep.equal([])
    }
  })

  it('are the same however they are read, and when more are added', () => {
    const query = { metric: 'cosine', vector: numbers(24) } as const
    const vectors = numbers(24 * 3000)
    const whole = leastOfAll(make(24), query, vectors)
    const rows = new Rows(vectors, 24, 7)
    const of = new CoarseVectors(rows, 24)

    for (const count of [1, 2, 500, 501, 2999, 3000]) {
      rows.rowCount = count
      const add = (_: Float32Array, row: number): number => batch.add(of.block(row, count - row))
      const least = leastOfAll({ batch, add }, query, vectors.subarray(0, count * 24))
      expect(least).to.deep.equal(whole.slice(0, count))
    }
  })

  it('are read and encoded once', () => {
    const rows = new Rows(numbers(384 * 100), 384)
    const of = new CoarseVectors(rows, 384)
    const encoded = (): number => {
      let sum = 0
      for (let row = 0; row < 100;) {
        const block = of.block(row, 100 - row)
        sum += block.encoded
        row += block.rowCount
      }
      return sum
    }

    expect(encoded()).to.equal(100)
    expect(encoded()).to.equal(0)
  })
})
