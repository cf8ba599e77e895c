import { expect } from 'chai'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import { DocumentClock } from '../../../../node/clock/document-clock.ts'
import { HybridClock } from '../../../../node/clock/hybrid-clock.ts'
import { errorOf } from '../../../support/error-of.ts'
import { memoryBound } from '../../../support/worlds/shard-world.ts'

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
}

describe('systemClock', () => {
  it('takes a time that has passed for now, and Node warns of nothing', async () => {
    const warnings: string[] = []
    const onWarning = ({ name }: Error): void => void warnings.push(name)
    process.on('warning', onWarning)
    try {
      await systemClock.sleep(-5)
      await new Promise<void>((resolve) => void systemClock.after(-5, resolve))
      await new Promise(setImmediate)
    } finally {
      process.off('warning', onWarning)
    }

    expect(warnings).to.deep.equal([])
  })
})

describe('ManualClock', () => {
  it('stands still until the test advances it', () => {
    const clock = new ManualClock(1000)
    clock.advance(5)
    clock.stepWall(-100)

    expect([clock.nowMs(), clock.monotonicMs()]).to.deep.equal([905, 5])
  })

  it('wakes sleepers when they are due, earliest first', async () => {
    const clock = new ManualClock()
    const woken: number[] = []
    for (const ms of [30, 10, 20, 50]) void clock.sleep(ms).then(() => woken.push(ms))

    clock.advance(9)
    await settle()
    expect(woken).to.deep.equal([])

    clock.advance(31)
    await settle()
    expect(woken).to.deep.equal([10, 20, 30])
  })

  it('acts after a time, once, unless that is taken back', () => {
    const clock = new ManualClock()
    const acted: string[] = []
    clock.after(20, () => acted.push('kept'))
    const cancel = clock.after(10, () => acted.push('taken back'))

    clock.advance(9)
    cancel()
    clock.advance(11)
    clock.advance(20)

    expect(acted).to.deep.equal(['kept'])
  })

  it('does not wake a sleeper because the wall clock stepped', async () => {
    const clock = new ManualClock()
    let woken = false
    void clock.sleep(10).then(() => {
      woken = true
    })
    clock.stepWall(1000)
    await settle()

    expect(woken).to.equal(false)
  })

  it('runs a periodic task again after it has finished, never twice at once', async () => {
    const clock = new ManualClock()
    const gates: (() => void)[] = []
    const stop = clock.every(10, () => new Promise((resolve) => gates.push(resolve)))

    clock.advance(10)
    await settle()
    clock.advance(100)
    await settle()
    expect(gates).to.have.length(1)

    gates[0]?.()
    await settle()
    clock.advance(10)
    await settle()
    expect(gates).to.have.length(2)

    const stopped = stop()
    gates[1]?.()
    await stopped
    clock.advance(100)
    await settle()
    expect(gates).to.have.length(2)
  })
})

describe('systemClock', () => {
  it('acts after a time, unless that is taken back', async () => {
    const acted: string[] = []
    const cancel = systemClock.after(0, () => acted.push('taken back'))
    cancel()
    await new Promise<void>((resolve) => systemClock.after(1, resolve))

    expect(acted).to.deep.equal([])
  })
})

describe('DocumentClock', () => {
  it("reports hybrid time, not the wall clock's", async () => {
    const wall = new ManualClock(1000)
    const clock = new DocumentClock(wall, await HybridClock.open(wall, memoryBound))

    wall.stepWall(3_600_000)

    expect(clock.nowMs()).to.equal(1000)
  })
})

const hybridClock = await HybridClock.open(systemClock, memoryBound)
for (const [name, clock] of [
  ['systemClock', systemClock],
  ['ManualClock', new ManualClock()],
  ['DocumentClock', new DocumentClock(systemClock, hybridClock)],
] as const) {
  describe(`${name}: Clock contract`, () => {
    it('rejects a sleep with the reason of the signal', async () => {
      const reason = new Error('enough')
      const stop = new AbortController()
      const sleeping = errorOf(() => clock.sleep(1_000_000, stop.signal))
      stop.abort(reason)

      expect(await sleeping).to.equal(reason)
      expect(await errorOf(() => clock.sleep(1, stop.signal))).to.equal(reason)
    })

    it('stops a periodic task that never ran', async () => {
      let runs = 0
      const stop = clock.every(1_000_000, async () => {
        runs += 1
      })
      await stop()

      expect(runs).to.equal(0)
    })

    it('has a monotonic time that does not go back', () => {
      const first = clock.monotonicMs()

      expect(clock.monotonicMs()).to.be.at.least(first)
    })
  })
}
