import type { Clock } from '../../lib/clock.ts'

/** One moment to act at, unless it is cancelled before. */
export interface Deadline {
  cancel(): void
}

/** Timers of Node take no longer time. The sweep then sets the next one. */
const SLEEP_MS_MAX = 2 ** 30

interface Entry {
  readonly atMs: number
  readonly onLate: () => void
}

/**
 * Many deadlines by one timer, because a timer for each call would cost more than the call. The timer
 * runs for the earliest deadline that was set since it last went off, so it usually goes off once in
 * the time of a typical call's timeout.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #entries = new Set<Entry>()
  #wakeMs = Infinity
  #sleep: AbortController | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `onLate` after `ms`, which may be 0. */
  after(ms: number, onLate: () => void): Deadline {
    const entry = { atMs: this.#clock.monotonicMs() + ms, onLate }
    this.#entries.add(entry)
    if (entry.atMs < this.#wakeMs) this.#wakeAt(entry.atMs)
    return { cancel: () => void this.#entries.delete(entry) }
  }

  /** Forgets all deadlines. */
  clear(): void {
    this.#entries.clear()
    this.#sleep?.abort()
    this.#wakeMs = Infinity
  }

  #wakeAt(atMs: number): void {
    this.#sleep?.abort()
    this.#sleep = new AbortController()
    this.#wakeMs = atMs
    const ms = Math.ceil(atMs - this.#clock.monotonicMs())
    this.#clock.sleep(Math.min(SLEEP_MS_MAX, Math.max(0, ms)), this.#sleep.signal).then(
      () => this.#sweep(),
      () => undefined, // another timer has taken its place
    )
  }

  #sweep(): void {
    this.#wakeMs = Infinity
    const nowMs = this.#clock.monotonicMs()
    for (const entry of this.#entries) {
      if (entry.atMs > nowMs) continue
      this.#entries.delete(entry)
      entry.onLate()
    }
    let earliestMs = Infinity
    for (const { atMs } of this.#entries) earliestMs = Math.min(earliestMs, atMs)
    if (earliestMs < this.#wakeMs) this.#wakeAt(earliestMs)
  }
}
