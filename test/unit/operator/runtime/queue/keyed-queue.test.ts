import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import { KeyedQueue } from '../../../../../operator/runtime/queue/keyed-queue.ts'
import { wrongOfQueue } from '../../../../support/operator/queue-schedule.ts'
import { parseTestSettings } from '../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const SCHEDULES = 20

describe('KeyedQueue', () => {
  it(`holds KQ1 to KQ7 in random schedules (QUARRY_TEST_SEED=${seed})`, () => {
    const wrong = Array.from({ length: SCHEDULES }, (_, at) => wrongOfQueue(seed + at))

    expect(wrong.filter((what) => what !== undefined)).to.deep.equal([])
  })

  it('waits for the earliest of several moments (KQ4)', () => {
    const clock = new ManualClock()
    const queue = new KeyedQueue({ clock, random: seededRandom(1) })
    queue.addAfter('a', 5000)
    queue.addAfter('a', 1000)
    queue.addAfter('a', 9000)

    clock.advance(999)
    const before = queue.take()
    clock.advance(1)

    expect(before).to.equal(undefined)
    expect(queue.take()).to.equal('a')
    queue.finish('a')
    clock.advance(60_000)
    expect(queue.take()).to.equal(undefined)
  })

  it('begins again with short retries after it forgot a key (KQ6)', () => {
    const clock = new ManualClock()
    const queue = new KeyedQueue({ clock, random: () => 1 - 1e-9 })
    const delays = [0, 1, 2].map(() => delayOf(queue, clock))
    queue.forget('a')

    expect([...delays, delayOf(queue, clock)]).to.deep.equal([1000, 2000, 4000, 1000])
  })

  it('never retries later than five minutes, or earlier than it is told (KQ6)', () => {
    const clock = new ManualClock()
    const queue = new KeyedQueue({ clock, random: () => 1 - 1e-9 })
    const delays = Array.from({ length: 40 }, () => delayOf(queue, clock))

    expect(Math.max(...delays)).to.equal(300_000)
    queue.forget('a')
    expect(delayOf(queue, clock, 77_000)).to.equal(77_000)
  })

  it('tells how long keys wait and passes last', () => {
    const clock = new ManualClock()
    const queue = new KeyedQueue({ clock, random: seededRandom(1) })
    queue.add('a')
    queue.add('b')
    clock.advance(300)
    queue.take()
    clock.advance(200)
    queue.addAfter('c', 1000)

    expect(queue.figures()).to.deep.equal({
      waiting: 1,
      delayed: 1,
      inWork: 1,
      adds: 2,
      retries: 0,
      oldestWaitMs: 500,
      longestWorkMs: 200,
    })
  })
})

/** After how many ms a retry waits, to the next 100 above. */
function delayOf(queue: KeyedQueue, clock: ManualClock, atLeastMs = 0): number {
  const beganMs = clock.monotonicMs()
  queue.retry('a', atLeastMs)
  while (queue.take() === undefined) clock.advance(100)
  queue.finish('a')
  return clock.monotonicMs() - beganMs
}
