import { expect } from 'chai'
import { ClosedTimes, ClosingTimes } from '../../../../../node/replication/core/closed-times.ts'
import { FollowerProgress } from '../../../../../node/replication/core/follower-progress.ts'

const point = (time: number, sequence: number) => ({ time: BigInt(time), sequence })

function heardAt(...times: readonly number[]): ReadonlyMap<string, FollowerProgress> {
  return new Map(
    times.map((ms, i) => {
      const progress = new FollowerProgress(1, 0)
      progress.heardMs = ms
      return [`n${i}`, progress]
    }),
  )
}

describe('what a replica knows of closed times (CT1)', () => {
  it('is the newest point that it has applied', () => {
    const closed = new ClosedTimes()
    closed.note(point(10, 5))
    closed.note(point(20, 8))

    expect([4, 5, 7, 8].map((applied) => closed.timeAt(applied))).to.deep.equal([
      undefined,
      10n,
      10n,
      20n,
    ])
  })

  it('moves on at a replica that always lags behind the newest point', () => {
    const closed = new ClosedTimes()
    for (let at = 1; at <= 10; at++) {
      closed.note(point(at * 10, at * 10))
      closed.timeAt(at * 10 - 15)
    }

    expect(closed.timeAt(85)).to.be.greaterThanOrEqual(60)
  })

  it('never goes back, whatever comes late', () => {
    const closed = new ClosedTimes()
    closed.note(point(20, 8))
    closed.timeAt(8)
    closed.note(point(10, 5))

    expect(closed.timeAt(8)).to.equal(20n)
    expect(closed.newest).to.deep.equal(point(20, 8))
  })
})

describe('a leader that closes times (CT2)', () => {
  it('tells a point when its entries are committed and all others have answered since', () => {
    const closing = new ClosingTimes()
    closing.take(point(10, 5), 100)

    expect(closing.settle(4, heardAt(150, 150)), 'not committed').to.equal(undefined)
    expect(closing.settle(5, heardAt(150, 100)), 'not heard since').to.equal(undefined)
    expect(closing.settle(5, heardAt(150, -Infinity)), 'restarted').to.equal(undefined)
    expect(closing.settle(5, heardAt(150, 101))).to.deep.equal(point(10, 5))
  })

  it('takes the next point when the last one is told', () => {
    const closing = new ClosingTimes()
    closing.take(point(10, 5), 100)
    closing.take(point(20, 6), 110)

    expect(closing.isDue(6, 110)).to.equal(false)
    expect(closing.settle(9, heardAt())).to.deep.equal(point(10, 5))
    expect(closing.isDue(6, 110), 'more entries').to.equal(true)
    expect(closing.isDue(5, 110), 'nothing happened').to.equal(false)
    expect(closing.isDue(5, 5100), 'after a while').to.equal(true)
    expect(closing.settle(9, heardAt())).to.equal(undefined)
  })
})
