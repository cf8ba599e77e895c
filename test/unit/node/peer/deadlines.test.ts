import { setImmediate as immediate } from 'node:timers/promises'
import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { Deadlines } from '../../../../node/peer/deadlines.ts'

describe('Deadlines', () => {
  let clock: ManualClock
  let deadlines: Deadlines
  let late: string[]

  beforeEach(() => {
    clock = new ManualClock()
    deadlines = new Deadlines(clock)
    late = []
  })

  async function pass(ms: number): Promise<void> {
    clock.advance(ms)
    await immediate()
  }

  function add(name: string, ms: number) {
    return deadlines.after(ms, () => late.push(name))
  }

  it('act when their time has come, and not before', async () => {
    add('b', 20)
    add('a', 10)
    add('c', 30)

    await pass(9)
    expect(late).to.deep.equal([])
    await pass(1)
    expect(late).to.deep.equal(['a'])
    await pass(10)
    expect(late).to.deep.equal(['a', 'b'])
    await pass(10)
    expect(late).to.deep.equal(['a', 'b', 'c'])
  })

  it('do nothing after they were cancelled', async () => {
    add('a', 10).cancel()
    const b = add('b', 20)
    await pass(10)
    b.cancel()
    await pass(100)

    expect(late).to.deep.equal([])
  })

  it('may be set by one that has just come', async () => {
    deadlines.after(10, () => add('later', 5))
    await pass(10)
    await pass(5)

    expect(late).to.deep.equal(['later'])
  })

  it('are forgotten by clear, and may be set again', async () => {
    add('a', 10)
    deadlines.clear()
    add('b', 10)
    await pass(10)

    expect(late).to.deep.equal(['b'])
  })
})
