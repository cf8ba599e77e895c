import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import { NearestRows } from '../../../../../../node/index/vector/lists/nearest-rows.ts'

describe('the nearest rows', () => {
  for (const capacity of [1, 2, 7, 100]) {
    it(`are the first ${capacity} of all in order`, () => {
      const random = seededRandom(capacity)
      const offered = Array.from({ length: 60 }, (_, row) => ({
        row,
        distance: Math.floor((random() - 0.5) * 2 ** 24),
      }))
      const nearest = new NearestRows(capacity)

      for (const { row, distance } of offered) nearest.offer(row, distance)

      const expected = offered.toSorted((a, b) => a.distance - b.distance).slice(0, capacity)
      expect([...nearest.sorted()]).to.deep.equal(expected.map(({ row }) => row))
      expect(nearest.isFull).to.equal(capacity <= 60)
    })
  }

  it('say whether a row is one of them', () => {
    const nearest = new NearestRows(2)

    const answers = [3, 5, 6, 4, 4, 1].map((distance, row) => nearest.offer(row, distance))

    expect(answers).to.deep.equal([true, true, false, true, false, true])
  })
})
