import { expect } from 'chai'
import { ManualClock, systemClock, type Clock } from '../../../lib/clock.ts'
import {
  runAtOnce,
  runInTurn,
  runSliced,
  SliceClock,
  StepMeter,
  type Sliced,
} from '../../../lib/sliced.ts'
import { errorOf } from '../../support/error-of.ts'

function* countTo(count: number): Sliced<number> {
  let sum = 0
  for (let i = 1; i <= count; i++) {
    sum += i
    yield
  }
  return sum
}

/** Every look at it finds a millisecond gone. */
function tickingClock(): Clock {
  let ms = 0
  return { ...systemClock, monotonicMs: () => ms++ }
}

describe('a sliced computation', () => {
  it('gives its result when it runs at once', () => {
    expect(runAtOnce(countTo(4))).to.equal(10)
  })

  it('gives its result when it runs in slices', async () => {
    expect(await runSliced(countTo(100), { clock: tickingClock() })).to.equal(5050)
  })

  it('gives other work a turn between two slices', async () => {
    let turns = 0
    let done = false
    const count = (): void => {
      turns += 1
      if (!done) setImmediate(count)
    }
    setImmediate(count)

    await runSliced(countTo(40), { clock: tickingClock(), sliceMs: 4 })
    done = true

    expect(turns).to.be.at.least(8)
  })

  it('ends at the next pause when its signal aborts', async () => {
    const signal = AbortSignal.abort(new RangeError('nobody waits'))

    const error = await errorOf(() => runSliced(countTo(100), { clock: tickingClock(), signal }))

    expect(error).to.be.instanceOf(RangeError)
  })
})

describe('a computation that runs in its turn', () => {
  it('answers without a promise if it ends in one step', () => {
    expect(runInTurn(countTo(0), { clock: tickingClock() })).to.equal(0)
  })

  it('runs in slices if it does not end in one step', async () => {
    const running = runInTurn(countTo(100), { clock: tickingClock() })

    expect(running).to.be.instanceOf(Promise)
    expect(await running).to.equal(5050)
  })
})

describe('SliceClock', () => {
  it('reports when a slice is over, and begins the next one with a turn', async () => {
    const clock = new ManualClock()
    const slice = new SliceClock(clock, 4)
    const before = slice.isOver

    clock.advance(4)
    const after = slice.isOver
    await slice.turn()

    expect([before, after, slice.isOver]).to.deep.equal([false, true, false])
  })
})

describe('StepMeter', () => {
  it('asks for a pause after each step of work', () => {
    const meter = new StepMeter(10)

    const pauses = [4, 4, 4, 4, 4, 4].map((units) => meter.spend(units))

    expect(pauses).to.deep.equal([false, false, true, false, false, true])
  })
})
