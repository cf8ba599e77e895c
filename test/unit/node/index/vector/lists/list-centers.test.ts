import { expect } from 'chai'
import { sampled } from '../../../../../../node/index/vector/lists/list-centers.ts'

describe('a sample of rows', () => {
  it('has rows of all topics, also where topics take turns', () => {
    const rows = [...sampled(1_000_000, 32_000)]

    expect(new Set(rows.map((row) => row % 1000)).size).to.equal(1000)
  })

  it('ascends, has no row twice, and is the same in each build', () => {
    const rows = [...sampled(10_000, 3000)]

    expect(rows).to.have.length(3000)
    expect(rows.every((row, i) => row > (rows[i - 1] ?? -1) && row < 10_000)).to.equal(true)
    expect([...sampled(10_000, 3000)]).to.deep.equal(rows)
  })

  it('is all of few rows', () => {
    expect([...sampled(4, 10)]).to.deep.equal([0, 1, 2, 3])
    expect([...sampled(0, 10)]).to.deep.equal([])
  })
})
