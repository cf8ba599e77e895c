import { expect } from 'chai'
import { seededRandom } from '../../../../../lib/random.ts'
import { LogTally, type TallyCounts } from '../../../../../node/shard/following/log-tally.ts'

const SEED = Date.now() % 100_000

function documents(count: number): TallyCounts {
  return { documents: count, written: count, artifacts: 0, touched: count }
}

describe('LogTally', () => {
  it('counts the changes behind an entry, and none behind the last', () => {
    const tally = new LogTally(10)
    tally.note(11, documents(3))
    tally.note(13, documents(2))

    expect([10, 11, 12, 13, 14].map((from) => tally.behind(from, 'documents'))).to.deep.equal([
      5, 2, 2, 0, 0,
    ])
    expect(tally.behind(10, 'artifacts')).to.equal(0)
  })

  it('does not know what came before it, until that is put before it', () => {
    const tally = new LogTally(10)
    tally.note(11, documents(3))
    const earlier = new LogTally(7)
    earlier.note(8, documents(4))
    earlier.note(10, documents(1))

    const before = tally.behind(8, 'documents')
    tally.extend(earlier)

    expect(before).to.equal(undefined)
    expect([7, 8, 9, 10, 11].map((from) => tally.behind(from, 'documents'))).to.deep.equal([
      8, 4, 4, 3, 0,
    ])
  })

  it('passes over an entry that comes again', () => {
    const tally = new LogTally(0)
    tally.note(1, documents(3))
    tally.note(1, documents(3))

    expect(tally.behind(0, 'documents')).to.equal(3)
  })

  it(`is never too low over many entries, and exact for the newest (LT1, LT2; seed ${SEED})`, () => {
    const random = seededRandom(SEED)
    const tally = new LogTally(0)
    const counts = Array.from({ length: 5000 }, () => Math.floor(random() * 4))
    counts.forEach((count, i) => tally.note(i + 1, documents(count)))

    for (let from = 0; from <= counts.length; from++) {
      const exact = counts.slice(from).reduce((sum, count) => sum + count, 0)
      const told = tally.behind(from, 'documents') ?? NaN
      expect(told).to.be.at.least(exact)
      if (from >= counts.length - 200) expect(told).to.equal(exact)
    }
  })
})
