import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import type { Metric } from '../../../../../../node/embedding/settings.ts'
import { CoarseRows } from '../../../../../../node/index/vector/kernels/coarse-rows.ts'
import { distanceFrom } from '../../../../../../node/index/vector/kernels/distance.ts'
import { CoarseVectors } from '../../../../../../node/index/vector/segment/coarse-vectors.ts'

const METRICS: readonly Metric[] = ['l2_squared', 'inner_product', 'cosine']
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

function addAll(coarse: CoarseRows, of: CoarseVectors, count: number): void {
  for (let row = 0; row < count; row += coarse.add(of.block(row, count - row)));
}

describe('rows of seven bits a number', () => {
  const random = seededRandom(12)
  const coarse = new CoarseRows()
  const numbers = (count: number, size = 1): Float32Array => {
    return Float32Array.from({ length: count }, () => (random() * 2 - 1) * size)
  }

  const leastOf = (
    metric: Metric,
    vector: Float32Array,
    { rows, of }: { readonly rows: Rows; readonly of: CoarseVectors },
  ): number[] => {
    const found: number[] = []
    coarse.begin({ metric, vector })
    for (let row = 0; row < rows.rowCount;) {
      row += coarse.add(of.block(row, rows.rowCount - row))
      if (!coarse.isFull && row < rows.rowCount) continue
      coarse.measure(Infinity)
      for (let place = 0; place < coarse.count; place += 1) found.push(coarse.leastOf(place))
      coarse.clear()
    }
    return found
  }
  const leastOfAll = (metric: Metric, vector: Float32Array, vectors: Float32Array): number[] => {
    const rows = new Rows(vectors, vector.length)
    return leastOf(metric, vector, { rows, of: new CoarseVectors(rows, vector.length) })
  }

  for (const dimension of [1, 2, 31, 32, 33, 100, 384, 1536, 16_384]) {
    for (const metric of METRICS) {
      it(`are never nearer than ${metric} says, nor much farther, with ${dimension} numbers`, () => {
        const [vector, rows] = [numbers(dimension), numbers(dimension * 9)]
        const distance = distanceFrom(metric, vector)

        const least = leastOfAll(metric, vector, rows)

        const scale = metric === 'cosine' ? 1 : dimension
        expect(least).to.have.length(9)
        for (const [row, bound] of least.entries()) {
          const exact = distance(rows, row * dimension)
          expect(bound).to.be.at.most(exact)
          expect(bound).to.be.at.least(exact - MISSED_MAX * scale)
        }
      })
    }
  }

  it('are bounds for numbers of every size, equal numbers, and zeros', () => {
    const sizes = [3e38, 1e20, 1, 1e-20, 1e-30, 1e-44, 0]
    for (const metric of METRICS) {
      for (const size of sizes) {
        const [vector, rows] = [numbers(50, size), numbers(50 * 20, size)]
        rows.fill(size, 50, 150)
        const distance = distanceFrom(metric, vector)

        const least = leastOfAll(metric, vector, rows)

        const wrong = least.filter((bound, row) => bound > distance(rows, row * 50))
        expect(wrong, `${metric} of numbers up to ${size}`).to.deep.equal([])
      }
    }
  })

  it('are bounds where numbers of a row differ in size', () => {
    for (const metric of METRICS) {
      const [vector, rows] = [numbers(64), numbers(64 * 50)]
      for (let row = 0; row < 50; row += 1) rows[row * 64 + (row % 64)] = 1000
      const distance = distanceFrom(metric, vector)

      const least = leastOfAll(metric, vector, rows)

      const wrong = least.filter((bound, row) => bound > distance(rows, row * 64))
      expect(wrong, metric).to.deep.equal([])
    }
  })

  it('tell the distance of a row with itself apart from nothing', () => {
    for (const metric of METRICS) {
      const vector = numbers(384)

      const [least = NaN] = leastOfAll(metric, vector, vector)

      expect(least).to.be.at.most(distanceFrom(metric, vector)(vector, 0))
    }
  })

  it('are gathered if they may be as near as a bar, and left out if they are much farther', () => {
    for (const metric of METRICS) {
      for (const size of [1, 1e-30, 1e20]) {
        const [vector, vectors] = [numbers(64, size), numbers(64 * 200, size)]
        vectors.fill(0, 64, 128)
        const distance = distanceFrom(metric, vector)
        const exact = Array.from({ length: 200 }, (_, row) => distance(vectors, row * 64))
        const order = exact.toSorted((a, b) => a - b)
        const rows = new Rows(vectors, 64)
        coarse.begin({ metric, vector })
        addAll(coarse, new CoarseVectors(rows, 64), 200)

        for (const bar of [order[0] ?? 0, order[10] ?? 0, order[100] ?? 0, Infinity]) {
          const count = coarse.measure(bar)

          const gathered = new Set(coarse.near.subarray(0, count))
          const lost = exact.filter((value, row) => value <= bar && !gathered.has(row))
          expect(lost, `${metric}, numbers up to ${size}`).to.deep.equal([])
          const near = order.filter((value) => value <= bar).length
          expect(count).to.be.at.most(near + 20)
        }
      }
    }
  })

  it('are the same however they are read, and when more are added', () => {
    const [vector, vectors] = [numbers(24), numbers(24 * 3000)]
    const whole = leastOfAll('cosine', vector, vectors)
    const rows = new Rows(vectors, 24, 7)
    const of = new CoarseVectors(rows, 24)

    for (const count of [1, 2, 500, 501, 2999, 3000]) {
      rows.rowCount = count
      const least = leastOf('cosine', vector, { rows, of })
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
