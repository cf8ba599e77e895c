import { expect } from 'chai'
import { QUANTIZATIONS } from '../../../../../../node/embedding/settings.ts'
import { rescoredCount, widthOf } from '../../../../../../node/index/vector/graph/effort.ts'

describe('the effort of a search', () => {
  it('looks farther with more effort', () => {
    expect([0, 0.5, 1].map(widthOf)).to.deep.equal([16, 128, 1024])
  })

  it('compares more candidates the coarser the graph is', () => {
    const asked = { limit: 100, effort: 0.5 }
    const counts = (['f32', 'f16', 'i8', 'binary'] as const).map((one) => rescoredCount(one, asked))

    expect(counts).to.deep.equal([100, 125, 300, 1600])
    expect(rescoredCount('i8', { limit: 1, effort: 0.5 })).to.equal(48)
  })

  it('compares more candidates with more effort, and no fewer than hits are wanted', () => {
    expect(countsOf('i8')).to.deep.equal([10, 17, 48, 136, 384])
    expect(countsOf('binary')).to.deep.equal([64, 182, 512, 1449, 4096])
  })

  it('compares as many as a query asks for, whatever the numbers are', () => {
    for (const numbers of QUANTIZATIONS) {
      const count = rescoredCount(numbers, { limit: 10, effort: 0.5, oversampling: 2.5 })
      expect(count, numbers).to.equal(25)
    }
  })
})

function countsOf(numbers: 'i8' | 'binary'): readonly number[] {
  return [0, 0.25, 0.5, 0.75, 1].map((effort) => rescoredCount(numbers, { limit: 10, effort }))
}
