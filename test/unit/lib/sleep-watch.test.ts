import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import { SleepWatch } from '../../../lib/sleep-watch.ts'

const HOUR_MS = 3_600_000

describe('SleepWatch', () => {
  it('counts nothing while time passes', () => {
    const clock = new ManualClock()
    const watch = new SleepWatch(clock)
    for (let hour = 0; hour < 10; hour++) {
      clock.advance(HOUR_MS)
      watch.look()
    }

    expect(watch.count()).to.equal(0)
  })

  it('counts a sleep at once', () => {
    const clock = new ManualClock()
    const watch = new SleepWatch(clock)

    clock.suspend(1000)

    expect(watch.count()).to.equal(1)
    expect(watch.count()).to.equal(1)
  })

  it('finds a sleep after which the wall clock was wrong', () => {
    const clock = new ManualClock()
    const watch = new SleepWatch(clock)
    clock.suspend(5000)
    clock.stepWall(-5000)
    expect(watch.count()).to.equal(0)

    watch.look()

    expect(watch.count()).to.equal(1)
  })

  it('takes a step of the wall clock forwards for a sleep, and none backwards', () => {
    const clock = new ManualClock()
    const watch = new SleepWatch(clock)

    clock.stepWall(-HOUR_MS)
    expect(watch.count()).to.equal(0)
    clock.stepWall(1000)
    expect(watch.count()).to.equal(1)
  })
})
