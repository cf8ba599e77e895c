import { expect } from 'chai'
import {
  chooseMerge,
  type MergePolicy,
  type SegmentSize,
} from '../../../../../../node/index/vector/engine/merge-policy.ts'

const POLICY: MergePolicy = {
  graphRowsMin: 1000,
  settledGraphRowsMin: 800,
  flatCountMax: 4,
  rowsMax: 100_000,
  deletedRatioMax: 0.2,
  extendedRatio: 1 / 16,
  settledRatio: 1 / 64,
}

function segment(id: number, rowCount: number, more: Partial<SegmentSize> = {}): SegmentSize {
  return { id, rowCount, docCount: rowCount, deletedCount: 0, hasGraph: false, ...more }
}

describe('the choice of a merge of segments with vectors', () => {
  it('is none for few rows', () => {
    expect(chooseMerge([segment(1, 300), segment(2, 400)], POLICY, true)).to.equal(undefined)
    expect(chooseMerge([], POLICY, true)).to.equal(undefined)
  })

  it('makes a graph of rows that are worth it', () => {
    const chosen = chooseMerge([segment(1, 600), segment(2, 400)], POLICY, false)

    expect(chosen).to.deep.equal({ ids: [2, 1], base: undefined, hasGraph: true })
  })

  it('makes a graph of fewer rows when nothing is written', () => {
    const sizes = [segment(1, 500), segment(2, 400)]

    expect(chooseMerge(sizes, POLICY, false)).to.equal(undefined)
    expect(chooseMerge(sizes, POLICY, true)).to.deep.include({ hasGraph: true })
  })

  it('gathers many small segments without a graph', () => {
    const sizes = [1, 2, 3, 4].map((id) => segment(id, 10))

    expect(chooseMerge(sizes, POLICY, false)).to.deep.include({ hasGraph: false })
  })

  it('extends the largest graph by many rows, or by fewer when nothing is written', () => {
    const sizes = [segment(1, 16_000, { hasGraph: true }), segment(2, 500)]

    expect(chooseMerge(sizes, POLICY, false)).to.equal(undefined)
    expect(chooseMerge(sizes, POLICY, true)).to.deep.equal({ ids: [1, 2], base: 1, hasGraph: true })
    expect(chooseMerge([...sizes, segment(3, 500)], POLICY, false)).to.deep.include({ base: 1 })
  })

  it('lets no graph grow beyond the bound', () => {
    const sizes = [segment(1, 99_000, { hasGraph: true }), segment(2, 2000)]

    expect(chooseMerge(sizes, POLICY, true)).to.deep.equal({
      ids: [2],
      base: undefined,
      hasGraph: true,
    })
    const large = [segment(1, 99_000, { hasGraph: true }), segment(2, 2000, { hasGraph: true })]
    expect(chooseMerge(large, POLICY, true)).to.equal(undefined)
  })

  it('writes a segment again without its dead documents', () => {
    const sizes = [segment(1, 5000, { hasGraph: true, deletedCount: 1000 })]

    expect(chooseMerge(sizes, POLICY, false)).to.deep.equal({
      ids: [1],
      base: undefined,
      hasGraph: true,
    })
  })
})
