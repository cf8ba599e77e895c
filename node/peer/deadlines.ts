import { Alarm } from '../../lib/alarm.ts'
import type { Clock } from '../../lib/clock.ts'

/** One moment to act at, unless it is cancelled before. */
export interface Deadline {
  cancel(): void
}

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
  readonly #alarm: Alarm

  constructor(clock: Clock) {
    this.#clock = clock
    this.#alarm = new Alarm(clock, () => this.#sweep())
  }

  /** Calls `onLate` after `ms`, which may be 0. */
  after(ms: number, onLate: () => void): Deadline {
    const entry = { atMs: this.#clock.monotonicMs() + ms, onLate }
    this.#entries.add(entry)
    this.#alarm.ringBy(entry.atMs)
    return { cancel: () => void this.#entries.delete(entry) }
  }

  /** Forgets all deadlines. */
  clear(): void {
    this.#entries.clear()
    this.#alarm.cancel()
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const entry of this.#entries) {
      if (entry.atMs > nowMs) continue
      this.#entries.delete(entry)
      entry.onLate()
    }
    let earliestMs = Infinity
    for (const { atMs } of this.#entries) earliestMs = Math.min(earliestMs, atMs)
    this.#alarm.ringBy(earliestMs)
  }
}
