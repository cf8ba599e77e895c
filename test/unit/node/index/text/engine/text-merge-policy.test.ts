import { expect } from 'chai'
import {
  chooseMerge,
  chooseSettledMerge,
  type SegmentSize,
} from '../../../../../../node/index/text/engine/text-merge-policy.ts'

const policy = {
  segmentsPerTier: 3,
  smallestBytes: 100,
  largestBytes: 10_000,
  deletedRatioMax: 0.33,
}

function segment(id: number, bytes: number, deletedCount = 0): SegmentSize {
  return { id, bytes, docCount: 100, deletedCount }
}

describe('the merge policy', () => {
  it('leaves a tier alone that is not full', () => {
    expect(chooseMerge([segment(1, 10), segment(2, 10)], policy)).to.equal(undefined)
  })

  it('merges a full tier, the smallest first', () => {
    const sizes = [segment(1, 90), segment(2, 10), segment(3, 50), segment(4, 20)]

    expect(chooseMerge(sizes, policy)).to.deep.equal([2, 4, 3])
  })

  it('does not mix tiers', () => {
    const sizes = [segment(1, 10), segment(2, 20), segment(3, 150), segment(4, 1000)]

    expect(chooseMerge(sizes, policy)).to.equal(undefined)
  })

  it('counts live documents, not all documents on the disk', () => {
    const sizes = [segment(1, 150, 30), segment(2, 120), segment(3, 130)]

    expect(chooseMerge(sizes, policy)).to.deep.equal([1, 2, 3])
  })

  it('leaves segments alone that would become too large', () => {
    const sizes = [segment(1, 6000), segment(2, 6000), segment(3, 6000)]

    expect(chooseMerge(sizes, policy)).to.equal(undefined)
  })

  it('merges fewer when all of them would become too large', () => {
    const sizes = [segment(1, 4000), segment(2, 4100), segment(3, 4200)]

    expect(chooseMerge(sizes, policy)).to.deep.equal([1, 2])
  })

  it('rewrites the segment with the most deleted documents', () => {
    const sizes = [segment(1, 1000, 34), segment(2, 100, 90), segment(3, 5000)]

    expect(chooseMerge(sizes, policy)).to.deep.equal([2])
  })
})

describe('the merge policy of an index at rest', () => {
  it('gathers segments that are small beside those below them together', () => {
    const sizes = [segment(1, 290), segment(2, 36), segment(3, 36), segment(4, 5), segment(5, 5)]

    expect(chooseSettledMerge(sizes, policy)).to.deep.equal([4, 5, 2, 3])
  })

  it('leaves segments alone that each have twice the size of those below', () => {
    const sizes = [segment(1, 10), segment(2, 20), segment(3, 60), segment(4, 180)]

    expect(chooseSettledMerge(sizes, policy)).to.equal(undefined)
  })

  it('does not rewrite a large segment for a small one', () => {
    expect(chooseSettledMerge([segment(1, 4000), segment(2, 10)], policy)).to.equal(undefined)
  })

  it('leaves segments alone that would become too large', () => {
    expect(chooseSettledMerge([segment(1, 6000), segment(2, 6000)], policy)).to.equal(undefined)
  })
})
