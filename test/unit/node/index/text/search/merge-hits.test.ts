import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { mergeHits, mergeLastHits } from '../../../../../../node/index/text/search/merge-hits.ts'

const compare = (a: number, b: number): number => a - b
const lists = fc.array(fc.array(fc.nat(50)).map((hits) => hits.toSorted(compare)))

describe('the hits of several shards', () => {
  it('are merged as if they had been sorted together', () => {
    fc.assert(
      fc.property(lists, fc.nat(60), (parts, limit) => {
        const sorted = parts.flat().toSorted(compare)

        expect(runAtOnce(mergeHits(parts, limit, compare))).to.deep.equal(sorted.slice(0, limit))
      }),
    )
  })

  it('are merged from their end for a page before a cursor', () => {
    fc.assert(
      fc.property(lists, fc.nat(60), (parts, limit) => {
        const sorted = parts.flat().toSorted(compare)

        const expected = limit === 0 ? [] : sorted.slice(-limit)
        expect(runAtOnce(mergeLastHits(parts, limit, compare))).to.deep.equal(expected)
      }),
    )
  })

  it('are merged with pauses', () => {
    const parts = Array.from({ length: 64 }, () => Array.from({ length: 1000 }, (_, i) => i))

    const pauses = [...mergeHits(parts, 10_000, compare)].length

    expect(pauses).to.be.at.least(50)
  })
})
