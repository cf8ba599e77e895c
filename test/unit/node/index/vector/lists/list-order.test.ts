import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import { ascending } from '../../../../../../node/index/vector/lists/list-order.ts'

describe('numbers from the least on', () => {
  it('are those of a sorted array', () => {
    const random = seededRandom(5)
    for (let count = 0; count < 70; count += 1) {
      const numbers = Float64Array.from({ length: count }, () => Math.floor(random() * 40) - 20)
      const sorted = numbers.toSorted()

      expect([...ascending(numbers)]).to.deep.equal([...sorted])
    }
  })
})
