import { expect } from 'chai'
import * as fc from 'fast-check'
import { Backoff, backoffDelayMs } from '../../../lib/backoff.ts'
import { ManualClock } from '../../../lib/clock.ts'

const POLICY = { baseMs: 100, capMs: 5000, retriesMax: 3 }

describe('backoff', () => {
  it('doubles up to the cap, with the upper half of each delay random', () => {
    const delays = [0, 1, 2, 10, 1000].map((retry) => backoffDelayMs(POLICY, retry, () => 0))
    const longest = backoffDelayMs(POLICY, 1000, () => 1)

    expect(delays).to.deep.equal([50, 100, 200, 2500, 2500])
    expect(longest).to.equal(5000)
  })

  it('keeps every delay within its bounds', () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (retry, chance) => {
        const delayMs = backoffDelayMs(POLICY, retry, () => chance)
        expect(delayMs).to.be.within(POLICY.baseMs / 2, POLICY.capMs)
      }),
    )
  })

  it('waits by the clock, for at least the requested time', async () => {
    const clock = new ManualClock()
    const backoff = new Backoff(POLICY, clock, () => 0)
    let over = false
    const waiting = backoff.wait({ atLeastMs: 700 }).then(() => {
      over = true
    })

    clock.advance(699)
    await Promise.resolve()
    const early = over
    clock.advance(1)
    await waiting

    expect(early).to.equal(false)
    expect(over).to.equal(true)
  })

  it('gives up when the retries are used up', async () => {
    const clock = new ManualClock()
    const backoff = new Backoff(POLICY, clock, () => 0)
    const turns: boolean[] = []
    for (let turn = 0; turn < 4; turn += 1) {
      const waiting = backoff.wait()
      clock.advance(POLICY.capMs)
      turns.push(await waiting)
    }

    expect(turns).to.deep.equal([true, true, true, false])
  })

  it('stops waiting when it is aborted', async () => {
    const abort = new AbortController()
    const backoff = new Backoff(POLICY, new ManualClock(), () => 0)
    const waiting = backoff.wait({ signal: abort.signal }).catch((reason: unknown) => reason)

    abort.abort('enough')

    expect(await waiting).to.equal('enough')
  })
})
