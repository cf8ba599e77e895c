import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../lib/clock.ts'
import { PacedTime, SLEW_RATIO } from '../../../../node/clock/paced-time.ts'

const START_MS = 1_700_000_000_000
const HOUR_MS = 3_600_000

const step = fc.oneof(
  fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 0, max: HOUR_MS }) }),
  fc.record({
    kind: fc.constant('leap' as const),
    ms: fc.integer({ min: -1000 * HOUR_MS, max: 1000 * HOUR_MS }),
  }),
)

describe('PacedTime', () => {
  it('PT1: advances at nearly the pace of monotonic time while the wall clock leaps', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const clock = new ManualClock(START_MS)
        const time = new PacedTime(clock, 0)
        for (const { kind, ms } of steps) {
          const before = time.nowMs()
          if (kind === 'leap') clock.stepWall(ms)
          else clock.advance(ms)

          const passedMs = time.nowMs() - before

          const monotonicMs = kind === 'leap' ? 0 : ms
          expect(passedMs).to.be.within(
            Math.floor(monotonicMs * (1 - SLEW_RATIO)) - 1,
            Math.ceil(monotonicMs * (1 + SLEW_RATIO)) + 1,
          )
        }
      }),
      { numRuns: 500 },
    )
  })

  it('PT2: catches up with a steady wall clock in 20 times the offset', () => {
    fc.assert(
      fc.property(fc.integer({ min: -48 * HOUR_MS, max: 48 * HOUR_MS }), (leapMs) => {
        const clock = new ManualClock(START_MS)
        const time = new PacedTime(clock, 0)
        clock.stepWall(leapMs)
        expect(time.offsetMs()).to.equal(leapMs)

        for (let round = 0; round < 20; round++) {
          clock.advance(Math.abs(leapMs) + 1)
          time.nowMs()
        }

        expect(time.offsetMs()).to.be.within(0, 1)
      }),
    )
  })

  it('PT2: adopts a wall clock that is ahead at a new start, and never a time below its minimum', () => {
    const clock = new ManualClock(START_MS)

    expect(new PacedTime(clock, START_MS - HOUR_MS).nowMs()).to.equal(START_MS)
    expect(new PacedTime(clock, START_MS + HOUR_MS).nowMs()).to.equal(START_MS + HOUR_MS)
  })

  it('PT3: counts the sleep of the machine', () => {
    const clock = new ManualClock(START_MS)
    const time = new PacedTime(clock, 0)

    clock.suspend(8 * HOUR_MS)
    clock.advance(1000)

    expect(time.nowMs()).to.equal(START_MS + 8 * HOUR_MS + 1000)
  })

  it('PT3: counts no more sleep than the wall clock reports', () => {
    const clock = new ManualClock(START_MS)
    const time = new PacedTime(clock, 0)

    clock.suspend(8 * HOUR_MS)
    clock.stepWall(-7 * HOUR_MS)
    clock.advance(1000)

    expect(time.nowMs()).to.equal(START_MS + HOUR_MS + 1000)
  })
})
