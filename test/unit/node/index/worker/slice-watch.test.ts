import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { SliceWatch } from '../../../../../node/index/worker/slice-watch.ts'
import { ManualCollections } from '../../../../support/fakes/manual-collections.ts'

describe('the watch of slices', () => {
  it('separates the work of a slice from collections and waits in it', async () => {
    const clock = new ManualClock()
    const collections = new ManualCollections()
    let cpuMs = 0
    const watch = new SliceWatch({
      clock,
      cpuMs: () => cpuMs,
      observeCollections: collections.observe,
    })

    clock.advance(100)
    watch.begin()
    clock.advance(90)
    cpuMs += 80
    collections.add({ startTime: 95, duration: 65 })
    watch.end('apply')
    watch.begin()
    clock.advance(1)
    cpuMs += 1
    watch.end('search')

    const { wall, cpu, work, collections: pauses, longestWorkMs } = await watch.report()
    expect([wall.sumMs, cpu.sumMs, work.sumMs, pauses.sumMs]).to.deep.equal([91, 81, 21, 65])
    expect([...longestWorkMs]).to.have.deep.members([
      ['apply', 20],
      ['search', 1],
    ])
  })

  it('never reports a negative duration', async () => {
    const clock = new ManualClock()
    const collections = new ManualCollections()
    let cpuMs = 0
    const watch = new SliceWatch({
      clock,
      cpuMs: () => cpuMs,
      observeCollections: collections.observe,
    })

    watch.begin()
    clock.advance(50)
    cpuMs += 20
    collections.add({ startTime: 0, duration: 50 })
    watch.end('apply')

    expect((await watch.report()).work.sumMs).to.equal(0)
  })
})
