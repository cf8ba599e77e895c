import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import { Kernels } from '../../../../../../node/index/vector/kernels/code-memory.ts'

const ROWS = 20

describe('the memory of rows of small integers', () => {
  const random = seededRandom(7)
  const integers = (count: number): Int8Array => {
    return Int8Array.from({ length: count }, () => Math.round(random() * 254) - 127)
  }

  for (const dimension of [1, 3, 15, 16, 17, 32, 100, 384, 4096]) {
    it(`measures rows of ${dimension} numbers as a plain loop does`, () => {
      const memory = new Kernels().memoryOf(dimension, ROWS)
      const rows = Array.from({ length: ROWS }, () => integers(dimension))
      const stride = memory.codes.length / ROWS
      for (const [row, codes] of rows.entries()) {
        memory.codes.set(new Uint8Array(codes.buffer), row * stride)
      }
      const query = integers(dimension)
      const asked = [3, 0, 19, 3]
      memory.rows.set(asked)
      const sumOf = (term: (a: number, b: number) => number): readonly number[] => {
        return asked.map((row) => {
          return query.reduce((sum, one, i) => sum + term(one, rows[row]?.[i] ?? 0), 0)
        })
      }

      memory.measure(query, 'l2_squared', asked.length)
      const squares = [...memory.distances.subarray(0, asked.length)]
      memory.measure(query, 'inner_product', asked.length)
      const products = [...memory.distances.subarray(0, asked.length)]

      expect(squares).to.deep.equal(sumOf((a, b) => (a - b) ** 2).map(Math.fround))
      expect(products).to.deep.equal(sumOf((a, b) => -a * b).map(Math.fround))
    })
  }

  it('measures the largest numbers there are', () => {
    const memory = new Kernels().memoryOf(4096, 1)
    memory.codes.fill(-127)
    memory.rows[0] = 0

    memory.measure(new Int8Array(4096).fill(127), 'l2_squared', 1)

    expect(memory.distances[0]).to.equal(254 ** 2 * 4096)
  })
})
