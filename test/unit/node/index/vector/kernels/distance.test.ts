import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import { METRICS } from '../../../../../../node/embedding/settings.ts'
import { distanceFrom } from '../../../../../../node/index/vector/kernels/distance.ts'
import { PLAIN_DISTANCES } from '../../../../../support/worlds/vector-world.ts'

const DIMENSIONS = [1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 384]

describe('a distance from a query', () => {
  const random = seededRandom(11)
  const vectorOf = (length: number) => Float32Array.from({ length }, () => random() * 4 - 2)

  for (const metric of METRICS) {
    it(`is that of its definition, wherever the vector lies: ${metric}`, () => {
      for (const dimension of DIMENSIONS) {
        const query = vectorOf(dimension)
        const rows = vectorOf(dimension * 3)
        const distance = distanceFrom(metric, query)
        for (let row = 0; row < 3; row += 1) {
          const vector = rows.subarray(row * dimension, (row + 1) * dimension)
          const expected = PLAIN_DISTANCES[metric](query, vector)

          expect(distance(rows, row * dimension)).to.be.closeTo(expected, 1e-9)
        }
      }
    })
  }

  it('is finite for the largest numbers', () => {
    const largest = new Float32Array(16).fill(3e38)
    const smallest = new Float32Array(16).fill(-3e38)

    const distances = METRICS.map((metric) => distanceFrom(metric, largest)(smallest, 0))

    expect(distances.every(Number.isFinite)).to.equal(true)
  })

  it('is 1 by cosine from a vector without a direction', () => {
    expect(distanceFrom('cosine', new Float32Array(3))(new Float32Array(3), 0)).to.equal(1)
  })
})
