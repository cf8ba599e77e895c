import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import type { Metric } from '../../../../../../node/embedding/settings.ts'
import { distanceFrom } from '../../../../../../node/index/vector/kernels/distance.ts'
import { FloatRows } from '../../../../../../node/index/vector/kernels/float-rows.ts'

const METRICS: readonly Metric[] = ['l2_squared', 'inner_product', 'cosine']
/** As large as doubles would never need it: a sum of a thousand terms is wrong by some millionths. */
const SLACK_MAX = 1e-3

describe('rows of floats that are measured together', () => {
  const random = seededRandom(11)
  const floats = new FloatRows()
  const numbers = (count: number, size = 1): Float32Array => {
    return Float32Array.from({ length: count }, () => (random() * 2 - 1) * size)
  }

  /** All rows, however often the memory is full meanwhile. */
  const leastOfAll = (metric: Metric, vector: Float32Array, rows: Float32Array): number[] => {
    const count = rows.length / vector.length
    const found: number[] = []
    floats.begin({ metric, vector })
    for (let row = 0; row < count;) {
      row += floats.add(rows, row * vector.length, count - row)
      if (!floats.isFull && row < count) continue
      floats.measure(Infinity)
      for (let place = 0; place < floats.count; place += 1) found.push(floats.leastOf(place))
      floats.clear()
    }
    return found
  }

  for (const dimension of [1, 2, 7, 8, 9, 100, 384, 1536, 16_384]) {
    for (const metric of METRICS) {
      it(`are never nearer than ${metric} says, nor much farther, with ${dimension} numbers`, () => {
        const [vector, rows] = [numbers(dimension), numbers(dimension * 9)]
        const distance = distanceFrom(metric, vector)

        const least = leastOfAll(metric, vector, rows)

        const scale = metric === 'cosine' ? 1 : dimension
        for (const [row, bound] of least.entries()) {
          const exact = distance(rows, row * dimension)
          expect(bound).to.be.at.most(exact)
          expect(bound).to.be.at.least(exact - SLACK_MAX * scale)
        }
      })
    }
  }

  it('take more rows than fit at once, and those of one document alone', () => {
    const [vector, rows] = [numbers(24), numbers(24 * 3000)]
    const one = rows.slice(24 * 7, 24 * 8)

    const least = leastOfAll('l2_squared', vector, rows)
    const alone = leastOfAll('l2_squared', vector, one)

    expect(least).to.have.length(3000)
    expect(alone[0]).to.equal(least[7])
  })

  it('tell nothing where sums overflow, and stay below where they vanish', () => {
    for (const metric of METRICS) {
      for (const size of [3e38, 1e20, 1e-20, 1e-30, 1e-44]) {
        const [vector, rows] = [numbers(50, size), numbers(50 * 20, size)]
        const distance = distanceFrom(metric, vector)

        const least = leastOfAll(metric, vector, rows)

        const wrong = least.filter((bound, row) => bound > distance(rows, row * 50))
        expect(wrong, `${metric} of numbers up to ${size}`).to.deep.equal([])
      }
    }
  })

  it('tell the distance of a row with itself apart from nothing', () => {
    for (const metric of METRICS) {
      const vector = numbers(384)

      const [least = NaN] = leastOfAll(metric, vector, vector)

      expect(least).to.be.at.most(distanceFrom(metric, vector)(vector, 0))
    }
  })
})
