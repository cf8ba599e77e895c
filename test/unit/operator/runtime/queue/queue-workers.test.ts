import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import { apiErrorOf, NotLeadingError } from '../../../../../operator/runtime/api/api-error.ts'
import { KeyedQueue } from '../../../../../operator/runtime/queue/keyed-queue.ts'
import {
  INVALID_RETRY_MS,
  QueueWorkers,
} from '../../../../../operator/runtime/queue/queue-workers.ts'
import type { Outcome, Reconcile } from '../../../../../operator/runtime/queue/queue-workers.ts'
import { pass, settle } from '../../../../support/operator/settle.ts'
import { parseTestSettings } from '../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const DONE: Outcome = { kind: 'done' }

describe('QueueWorkers', () => {
  it(`work on each key one at a time, and on so many keys at once (QUARRY_TEST_SEED=${seed})`, async () => {
    const random = seededRandom(seed)
    const underWay = new Set<string>()
    const atOnce: number[] = []
    const twice: string[] = []
    const world = start(3, async (key) => {
      if (underWay.has(key)) twice.push(key)
      underWay.add(key)
      atOnce.push(underWay.size)
      await world.clock.sleep(1 + random() * 3000)
      underWay.delete(key)
      if (random() < 0.3) throw apiErrorOf(random() < 0.5 ? 409 : 500, {})
      return random() < 0.3 ? { kind: 'requeue', afterMs: random() * 5000, reason: 'test' } : DONE
    })

    for (let step = 0; step < 200; step++) {
      world.queue.add(`k${Math.floor(random() * 6)}`)
      await pass(world.clock, Math.floor(random() * 1000))
    }

    expect(twice).to.deep.equal([])
    expect(Math.max(...atOnce)).to.equal(3)
    await world.end()
  })

  it('add a key again after the time that its pass asks for', async () => {
    const atMs: number[] = []
    const world = start(1, async () => {
      atMs.push(world.clock.monotonicMs())
      return atMs.length === 1 ? { kind: 'requeue', afterMs: 5000, reason: 'test' } : DONE
    })
    world.queue.add('a')

    await pass(world.clock, 60_000)

    expect(atMs).to.deep.equal([0, 5000])
    expect(Object.fromEntries(world.workers.results)).to.deep.equal({ requeue: 1, done: 1 })
    await world.end()
  })

  it('retry a conflict at once, five times in a row', async () => {
    const atMs: number[] = []
    const world = start(1, async () => {
      atMs.push(world.clock.monotonicMs())
      throw apiErrorOf(409, { reason: 'Conflict' })
    })
    world.queue.add('a')
    await settle()

    expect(atMs).to.deep.equal([0, 0, 0, 0, 0, 0])
    await world.end()
  })

  it('wait for the time that a throttled API names', async () => {
    const atMs: number[] = []
    const world = start(1, async () => {
      atMs.push(world.clock.monotonicMs())
      if (atMs.length === 1) throw apiErrorOf(429, {}, { retryAfterMs: 17_000 })
      return DONE
    })
    world.queue.add('a')

    await pass(world.clock, 60_000)

    expect(atMs).to.deep.equal([0, 17_000])
    await world.end()
  })

  it('try what the API refuses as invalid again after ten minutes', async () => {
    const atMs: number[] = []
    const world = start(1, async () => {
      atMs.push(world.clock.monotonicMs())
      throw apiErrorOf(422, { reason: 'Invalid' })
    })
    world.queue.add('a')

    await pass(world.clock, INVALID_RETRY_MS + 60_000, 10_000)

    expect(atMs).to.deep.equal([0, INVALID_RETRY_MS])
    await world.end()
  })

  it('survive exceptions, and drop a key of a process that does not lead', async () => {
    const errors = [new TypeError('a bug'), new NotLeadingError('lost')]
    let passes = 0
    const world = start(1, async () => {
      passes += 1
      throw errors[passes - 1]!
    })
    world.queue.add('a')

    await pass(world.clock, 600_000, 10_000)

    expect(passes).to.equal(2)
    expect(Object.fromEntries(world.workers.results)).to.deep.equal({ bug: 1, 'not-leading': 1 })
    await world.end()
  })

  it('end when their passes have ended, and take nothing more', async () => {
    let isEnded = false
    const world = start(1, async () => {
      await world.clock.sleep(3000)
      isEnded = true
      return DONE
    })
    world.queue.add('a')
    world.queue.add('b')
    const stopped = world.workers.stop(20_000)

    await pass(world.clock, 4000)
    await stopped

    expect(isEnded).to.equal(true)
    expect(world.queue.figures()).to.include({ waiting: 1, inWork: 0 })
    await world.end()
  })

  it('abort passes that outlast the grace of an end', async () => {
    const world = start(1, (_key, signal) => world.clock.sleep(600_000, signal).then(() => DONE))
    world.queue.add('a')
    const stopped = world.workers.stop(20_000)

    await pass(world.clock, 20_000)
    await stopped

    expect(Object.fromEntries(world.workers.results)).to.deep.equal({ stopped: 1 })
  })
})

function start(workersMax: number, reconcile: Reconcile) {
  const clock = new ManualClock()
  const queue = new KeyedQueue({ clock, random: seededRandom(seed) })
  const workers = new QueueWorkers({ queue, workersMax, reconcile, clock, log: silentLog })
  workers.start()
  const end = async (): Promise<void> => {
    const stopped = workers.stop(1000)
    await pass(clock, 3000)
    await stopped
  }
  return { clock, queue, workers, end }
}
