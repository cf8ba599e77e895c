import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  firstInSteps,
  sortedInSteps,
} from '../../../../../../node/index/text/aggregation/sorted-in-steps.ts'
import { Poll } from '../../../../../../node/index/text/poll.ts'
import { walk } from '../../../../../support/slices/sliced-steps.ts'

/** Pauses as often as it can. */
const EAGER = 1

const byFirst = (a: readonly number[], b: readonly number[]): number => (a[0] ?? 0) - (b[0] ?? 0)

function pausesFor(length: number): number {
  const items = Array.from({ length }, (_, at) => [(at * 7919) % length])
  return walk(sortedInSteps(items, byFirst, new Poll())).pauses
}

describe('a sort in steps', () => {
  it('gives the order of a sort at once, and keeps the order of equals', () => {
    const count = fc.constantFrom(0, 1, 2, 1023, 1024, 1025, 2048, 5000)
    fc.assert(
      fc.property(count, fc.integer({ min: 1, max: 5000 }), fc.nat(), (length, values, seed) => {
        const items = Array.from({ length }, (_, at) => [(at * 7919 + seed) % values, at])

        const { result } = walk(sortedInSteps(items, byFirst, new Poll(EAGER)))

        expect(result).to.deep.equal(items.toSorted(byFirst))
      }),
      { numRuns: 40 },
    )
  })

  it('pauses in proportion to its work', () => {
    expect(pausesFor(1000)).to.be.at.most(1)
    expect(pausesFor(100_000)).to.be.above(100)
  })
})

describe('the first of many in steps', () => {
  it('are those of a sort of all, with the order of equals', () => {
    const length = fc.constantFrom(0, 1, 1023, 1100, 3000, 5000)
    const counts = fc.constantFrom(1, 10, 1000, 6000)
    fc.assert(
      fc.property(length, counts, fc.integer({ min: 1, max: 5000 }), (items, count, values) => {
        const all = Array.from({ length: items }, (_, at) => [(at * 7919) % values, at])

        const poll = new Poll(EAGER)
        const { result } = walk(firstInSteps(all.values(), byFirst, { count, poll }))

        expect(result).to.deep.equal(all.toSorted(byFirst).slice(0, count))
      }),
      { numRuns: 40 },
    )
  })
})
