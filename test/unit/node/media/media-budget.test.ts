import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { MediaBudget } from '../../../../node/media/media-budget.ts'
import type { MediaHolding } from '../../../../node/media/media-budget.ts'
import { errorOf } from '../../../support/error-of.ts'

describe('the memory of media', () => {
  let clock: ManualClock
  let budget: MediaBudget

  beforeEach(() => {
    clock = new ManualClock()
    budget = new MediaBudget({ bytesMax: 100, waitMs: 1000, clock })
  })

  function hold(signal = new AbortController().signal): MediaHolding {
    return budget.hold(signal)
  }

  it('is given until it is used up, and comes back', async () => {
    const holding = hold()

    await holding.add(60)
    await holding.add(40)
    holding.release(30)
    expect(budget.heldBytes).to.equal(70)
    holding[Symbol.dispose]()

    expect(budget.heldBytes).to.equal(0)
  })

  it('is waited for, in the order of the waits', async () => {
    const [first, second, third] = [hold(), hold(), hold()]
    const order: string[] = []
    await first.add(90)

    const waits = [
      second.add(50).then(() => order.push('second')),
      third.add(5).then(() => order.push('third')),
    ]
    first.release(10)
    expect(order).to.deep.equal([])
    first[Symbol.dispose]()
    await Promise.all(waits)

    expect(order).to.deep.equal(['second', 'third'])
    expect(budget.heldBytes).to.equal(55)
  })

  it('is refused after the time for a wait', async () => {
    const first = hold()
    await first.add(90)

    const failed = errorOf(() => hold().add(20))
    clock.advance(1000)

    expect(await failed).to.have.property('code', 'OVERLOADED')
    expect(budget.heldBytes).to.equal(90)
  })

  it('is refused at once to what is larger than all of it', async () => {
    expect(await errorOf(() => hold().add(101))).to.have.property('code', 'OVERLOADED')
  })

  it('is not waited for in a circle: who came last gives way', async () => {
    const [first, second] = [hold(), hold()]
    await first.add(50)
    await second.add(50)

    const waits = first.add(30)
    const failed = await errorOf(() => second.add(30))
    second[Symbol.dispose]()
    await waits

    expect(failed).to.have.property('code', 'OVERLOADED')
    expect(budget.heldBytes).to.equal(80)
  })

  it('is not waited for any longer when the reader gives up, and serves the next one', async () => {
    const stop = new AbortController()
    const [first, second, third] = [hold(), hold(stop.signal), hold()]
    await first.add(80)

    const failed = errorOf(() => second.add(90))
    const served = third.add(20)
    stop.abort(new Error('gone'))

    expect(await failed).to.equal(stop.signal.reason)
    await served
    expect(budget.heldBytes).to.equal(100)
  })
})
