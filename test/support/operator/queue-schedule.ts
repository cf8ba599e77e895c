// Random schedules of a keyed queue beside a naive account of what was asked for.

import { ManualClock } from '../../../lib/clock.ts'
import { seededRandom } from '../../../lib/random.ts'
import type { Random } from '../../../lib/random.ts'
import {
  CONFLICTS_AT_ONCE_MAX,
  KeyedQueue,
  RETRY_BASE_MS,
  RETRY_CAP_MS,
} from '../../../operator/runtime/queue/keyed-queue.ts'

const STEPS = 400
const KEYS = ['a', 'b', 'c', 'd', 'e']
const DELAY_MS_MAX = 20_000

/** What was asked for one key since its last pass began. */
interface Asked {
  /** The earliest moment. */
  wantedMs: number
  isInWork: boolean
  failures: number
}

/** The first invariant that a schedule breaks, by its name and what happened; undefined if none. */
export function wrongOfQueue(seed: number): string | undefined {
  return wrongOfMoments(seed) ?? wrongOfOrder(seed) ?? wrongOfTokens(seed)
}

/** KQ1 to KQ4 and KQ6: at each moment exactly those keys wait whose moment has come. */
function wrongOfMoments(seed: number): string | undefined {
  const schedule = new Schedule(seededRandom(seed))
  for (let step = 0; step < STEPS; step++) {
    const wrong = schedule.step()
    if (wrong !== undefined) return `${wrong} at step ${step}`
  }
  return undefined
}

class Schedule {
  readonly #random: Random
  readonly #clock = new ManualClock()
  readonly #queue: KeyedQueue
  readonly #account = new Map<string, Asked>(
    KEYS.map((key) => [key, { wantedMs: Infinity, isInWork: false, failures: 0 }]),
  )
  #drawn = 0

  constructor(random: Random) {
    this.#random = random
    this.#queue = new KeyedQueue({
      clock: this.#clock,
      random: () => (this.#drawn = random()),
    })
  }

  step(): string | undefined {
    const random = this.#random
    const key = KEYS[Math.floor(random() * KEYS.length)] ?? ''
    const asked = this.#account.get(key)!
    const acts = [
      () => this.#add(key, asked),
      () => this.#delay(key, asked),
      () => this.#retry(key, asked),
      () => this.#conflict(key, asked),
      () => this.#forget(key, asked),
      () => this.#finish(key, asked),
    ]
    const act = random()
    if (act < 0.25) this.#clock.advance(Math.floor(random() * 3000))
    else if (act < 0.5) {
      const taken = this.#queue.take()
      const wrong = wrongOfTake(taken, this.#account, this.#clock.monotonicMs())
      if (wrong !== undefined) return wrong
    } else acts[Math.floor(random() * acts.length)]?.()
    return this.#wrongOfWaiting()
  }

  #add(key: string, asked: Asked): void {
    this.#queue.add(key)
    this.#want(asked, 0)
  }

  #delay(key: string, asked: Asked): void {
    const afterMs = Math.floor(this.#random() * DELAY_MS_MAX)
    this.#queue.addAfter(key, afterMs)
    this.#want(asked, afterMs)
  }

  #retry(key: string, asked: Asked): void {
    const atLeastMs = this.#random() < 0.3 ? Math.floor(this.#random() * DELAY_MS_MAX) : 0
    this.#queue.retry(key, atLeastMs)
    this.#retried(asked, atLeastMs)
  }

  #conflict(key: string, asked: Asked): void {
    this.#queue.retryConflict(key)
    if (asked.failures >= CONFLICTS_AT_ONCE_MAX) return this.#retried(asked, 0)
    asked.failures += 1
    this.#want(asked, 0)
  }

  #forget(key: string, asked: Asked): void {
    this.#queue.forget(key)
    asked.failures = 0
  }

  #finish(key: string, asked: Asked): void {
    if (asked.isInWork) this.#queue.finish(key)
    asked.isInWork = false
  }

  #want(asked: Asked, afterMs: number): void {
    asked.wantedMs = Math.min(asked.wantedMs, this.#clock.monotonicMs() + afterMs)
  }

  #retried(asked: Asked, atLeastMs: number): void {
    const ceilingMs = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** asked.failures)
    asked.failures += 1
    this.#want(asked, Math.max(atLeastMs, this.#drawn * ceilingMs))
  }

  #wrongOfWaiting(): string | undefined {
    const nowMs = this.#clock.monotonicMs()
    const due = [...this.#account.values()].filter(({ wantedMs }) => wantedMs <= nowMs)
    const waiting = due.filter(({ isInWork }) => !isInWork).length
    const { waiting: seen } = this.#queue.figures()
    return seen === waiting ? undefined : `KQ2-4: ${seen} keys wait and not ${waiting}`
  }
}

function wrongOfTake(
  taken: string | undefined,
  account: Map<string, Asked>,
  nowMs: number,
): string | undefined {
  const ready = [...account.values()].some((one) => !one.isInWork && one.wantedMs <= nowMs)
  if (taken === undefined) return ready ? 'KQ2: a key waits and none was taken' : undefined
  const asked = account.get(taken)!
  if (asked.isInWork) return `KQ1: ${taken} is in the work of two`
  if (asked.wantedMs > nowMs) return `KQ4: ${taken} was taken too early`
  asked.isInWork = true
  asked.wantedMs = Infinity
  return undefined
}

/** KQ5: keys leave in the order of their first add, however often they are added again. */
function wrongOfOrder(seed: number): string | undefined {
  const random = seededRandom(seed)
  const queue = new KeyedQueue({ clock: new ManualClock(), random })
  const order: string[] = []
  for (let step = 0; step < 40; step++) {
    const key = KEYS[Math.floor(random() * KEYS.length)] ?? ''
    if (!order.includes(key)) order.push(key)
    queue.add(key)
    if (random() < 0.2) {
      const taken = queue.take()
      if (taken !== order.shift()) return `KQ5: ${taken} was taken before its turn`
      queue.finish(taken ?? '')
    }
  }
  return undefined
}

/** KQ7: so many keys fail again and again, and their passes are counted. */
function wrongOfTokens(seed: number): string | undefined {
  const random = seededRandom(seed)
  const clock = new ManualClock()
  const queue = new KeyedQueue({ clock, random })
  const startsMs: number[] = []
  const keys = Array.from({ length: 200 }, (_, at) => `k${at}`)
  for (const key of keys) queue.retryConflict(key)
  const seen = new Set<string>()
  for (let step = 0; step < 300 && seen.size < keys.length; step++) {
    for (let key = queue.take(); key !== undefined; key = queue.take()) {
      startsMs.push(clock.monotonicMs())
      seen.add(key)
      queue.finish(key)
    }
    clock.advance(100)
  }
  if (seen.size < keys.length) return `KQ7: ${keys.length - seen.size} keys never had a pass`
  const lastMs = startsMs.at(-1) ?? 0
  for (let fromMs = 0; fromMs <= lastMs; fromMs += 500) {
    const within = startsMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 5000).length
    if (within > 100 + 10 * 5 + 1) return `KQ7: ${within} retries in 5 s`
  }
  return undefined
}
