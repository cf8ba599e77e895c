// What rows that are measured together promise, however they are measured.

import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import type { Metric } from '../../node/embedding/settings.ts'
import { distanceFrom } from '../../node/index/vector/kernels/distance.ts'
import type { RowBatch } from '../../node/index/vector/kernels/row-batch.ts'

export const METRICS: readonly Metric[] = ['l2_squared', 'inner_product', 'cosine']

/** Rows in a batch of one kind. */
export interface RowBatchUnderTest {
  readonly batch: RowBatch
  /** Adds rows of these vectors from `row` on, and answers how many fit. */
  readonly add: (vectors: Float32Array, row: number) => number
}

/** A batch, by the dimension of its vectors. */
export type MakeRowBatch = (dimension: number) => RowBatchUnderTest

/** What the batch says of all rows, however often it is full meanwhile. */
export function leastOfAll(
  { batch, add }: RowBatchUnderTest,
  { metric, vector }: { readonly metric: Metric; readonly vector: Float32Array },
  vectors: Float32Array,
): readonly number[] {
  const count = vectors.length / vector.length
  const found: number[] = []
  batch.begin({ metric, vector })
  for (let row = 0; row < count;) {
    row += add(vectors, row)
    if (!batch.isFull && row < count) continue
    batch.measure(Infinity)
    for (let place = 0; place < batch.count; place += 1) found.push(batch.leastOf(place))
    batch.clear()
  }
  return found
}

/** `missedMax`: how much nearer a row may seem than it is, where numbers are at most 1, by a number of each. */
export function describeRowBatch(make: MakeRowBatch, missedMax: number): void {
  const random = seededRandom(12)
  const numbers = (count: number, size = 1): Float32Array => {
    return Float32Array.from({ length: count }, () => (random() * 2 - 1) * size)
  }

  for (const dimension of [1, 2, 7, 8, 9, 31, 32, 33, 100, 384, 1536, 16_384]) {
    for (const metric of METRICS) {
      it(`are never nearer than ${metric} says, nor much farther, with ${dimension} numbers`, () => {
        const [vector, rows] = [numbers(dimension), numbers(dimension * 9)]
        const distance = distanceFrom(metric, vector)

        const least = leastOfAll(make(dimension), { metric, vector }, rows)

        const scale = metric === 'cosine' ? 1 : dimension
        expect(least).to.have.length(9)
        for (const [row, bound] of least.entries()) {
          const exact = distance(rows, row * dimension)
          expect(bound).to.be.at.most(exact)
          expect(bound).to.be.at.least(exact - missedMax * scale)
        }
      })
    }
  }

  it('are bounds for numbers of every size, where sums overflow and vanish, for equal numbers and zeros', () => {
    for (const metric of METRICS) {
      for (const size of [3e38, 1e20, 1, 1e-20, 1e-30, 1e-44, 0]) {
        const [vector, rows] = [numbers(50, size), numbers(50 * 20, size)]
        rows.fill(size, 50, 150)
        const distance = distanceFrom(metric, vector)

        const least = leastOfAll(make(50), { metric, vector }, rows)

        const wrong = least.filter((bound, row) => bound > distance(rows, row * 50))
        expect(wrong, `${metric} of numbers up to ${size}`).to.deep.equal([])
      }
    }
  })

  it('tell the distance of a row with itself apart from nothing', () => {
    for (const metric of METRICS) {
      const vector = numbers(384)

      const [least = NaN] = leastOfAll(make(384), { metric, vector }, vector)

      expect(least).to.be.at.most(distanceFrom(metric, vector)(vector, 0))
    }
  })

  it('take more rows than fit at once, and one row alone', () => {
    const query = { metric: 'l2_squared', vector: numbers(24) } as const
    const vectors = numbers(24 * 3000)

    const least = leastOfAll(make(24), query, vectors)
    const alone = leastOfAll(make(24), query, vectors.slice(24 * 7, 24 * 8))

    expect(least).to.have.length(3000)
    expect(alone).to.deep.equal(least.slice(7, 8))
  })

  it('are gathered if they may be as near as a bar, and left out if they are much farther', () => {
    for (const metric of METRICS) {
      for (const size of [1, 1e-30, 1e20]) {
        const [vector, vectors] = [numbers(64, size), numbers(64 * 200, size)]
        vectors.fill(0, 64, 128)
        const distance = distanceFrom(metric, vector)
        const exact = Array.from({ length: 200 }, (_, row) => distance(vectors, row * 64))
        const order = exact.toSorted((a, b) => a - b)
        const { batch, add } = make(64)
        batch.begin({ metric, vector })
        for (let row = 0; row < 200; row += add(vectors, row));

        for (const bar of [order[0] ?? 0, order[10] ?? 0, order[100] ?? 0, Infinity]) {
          const count = batch.measure(bar)

          const gathered = new Set(batch.near.subarray(0, count))
          const lost = exact.filter((value, row) => value <= bar && !gathered.has(row))
          expect(lost, `${metric}, numbers up to ${size}`).to.deep.equal([])
          const near = order.filter((value) => value <= bar).length
          expect(count).to.be.at.most(size === 1 ? near + 20 : 200)
        }
      }
    }
  })
}
