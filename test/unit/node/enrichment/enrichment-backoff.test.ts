import { expect } from 'chai'
import {
  BACKOFF_MS_MAX,
  enrichmentBackoffMs,
  isDueIn,
  longestBackoffMs,
} from '../../../../node/enrichment/enrichment-backoff.ts'

describe('the back-off of failed enrichments', () => {
  it('doubles from half a second to a minute, its upper half at random', () => {
    const shortest = [1, 2, 3, 7, 8, 100].map((failures) => enrichmentBackoffMs(failures, () => 0))
    const longest = [1, 2, 3, 7, 8, 100].map((failures) => enrichmentBackoffMs(failures, () => 1))

    expect(shortest).to.deep.equal([250, 500, 1000, 16_000, 30_000, 30_000])
    expect(longest).to.deep.equal([500, 1000, 2000, 32_000, 60_000, 60_000])
  })

  it('begins with its longest pause where only other settings help', () => {
    expect(longestBackoffMs(() => 0)).to.equal(BACKOFF_MS_MAX / 2)
    expect(longestBackoffMs(() => 1)).to.equal(BACKOFF_MS_MAX)
  })

  it('takes a document whose file was not there in every round, then every second, then every fourth', () => {
    expect(dueAfter(1)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8])
    expect(dueAfter(2)).to.deep.equal([2, 4, 6, 8])
    expect(dueAfter(3)).to.deep.equal([4, 8])
  })
})

function dueAfter(attempts: number): readonly number[] {
  return [1, 2, 3, 4, 5, 6, 7, 8].filter((round) => isDueIn(round, attempts))
}
