import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import { CollectionWatch } from '../../../lib/collection-watch.ts'
import { ManualCollections } from '../../support/fakes/manual-collections.ts'

const known = (watch: CollectionWatch): Promise<void> =>
  new Promise((resolve) => watch.whenKnown(resolve))

async function watchOf(...spans: readonly (readonly [startTime: number, duration: number])[]) {
  const collections = new ManualCollections()
  const heard: number[] = []
  const watch = CollectionWatch.start({
    observe: collections.observe,
    onCollection: (ms) => heard.push(ms),
  })
  for (const [startTime, duration] of spans) collections.add({ startTime, duration })
  await known(watch)
  return { collections, watch, heard }
}

describe('CollectionWatch', () => {
  it('measures how much of a span of time was collection of garbage', async () => {
    const { watch, heard } = await watchOf([10, 5], [20, 10], [40, 5])

    expect(watch.msWithin(12, 25)).to.equal(3 + 5)
    expect(watch.msWithin(0, 100)).to.equal(20)
    expect(watch.msWithin(30, 40)).to.equal(0)
    expect(heard).to.deep.equal([5, 10, 5])
  })

  it('counts a moment once (CW2)', async () => {
    const { watch } = await watchOf([10, 10], [12, 3], [15, 10])

    expect(watch.msWithin(0, 100)).to.equal(15)
  })

  it('answers in a later turn, in the order of the calls', async () => {
    const { watch } = await watchOf()
    const order: string[] = []

    watch.whenKnown(() => order.push('first'))
    watch.whenKnown(() => order.push('second'))
    const atOnce = [...order]
    await known(watch)

    expect(atOnce).to.deep.equal([])
    expect(order).to.deep.equal(['first', 'second'])
  })

  it('forgets old collections, but none of the last turns', async () => {
    const many = Array.from({ length: 1000 }, (_, i) => [i * 10, 5] as const)
    const { watch } = await watchOf(...many)

    expect(watch.msWithin(9000, 10_000)).to.equal(500)
    expect(watch.msWithin(0, 1000)).to.equal(0)
  })

  it('stops observing', async () => {
    const { collections, watch } = await watchOf()

    watch.stop()

    expect(collections.isStopped).to.equal(true)
  })

  for (const [where, turn] of Object.entries({
    'a timer': (work: () => void) => setTimeout(work, 1),
    'a turn behind the others': (work: () => void) => setImmediate(work),
    'what follows a promise': (work: () => void) => queueMicrotask(work),
  })) {
    it(`knows the collections of this thread in ${where} (CW1)`, async () => {
      setFlagsFromString('--expose-gc')
      const collect: () => void = runInNewContext('gc')
      const watch = CollectionWatch.start()

      const spans = await new Promise<readonly number[]>((resolve) => {
        turn(() => {
          const beganMs = systemClock.monotonicMs()
          collect()
          const endedMs = systemClock.monotonicMs()
          watch.whenKnown(() => resolve([endedMs - beganMs, watch.msWithin(beganMs, endedMs)]))
        })
      })
      watch.stop()

      const [span = 0, collecting = 0] = spans
      expect(collecting).to.be.above(span / 2)
      expect(collecting).to.be.at.most(span)
    })
  }
})
