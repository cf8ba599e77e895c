// Notices that the machine has slept: timers and the monotonic clock stand still then, and others do not.

import type { Clock } from './clock.ts'

/** The wall clock may be slewed and read a moment later. A greater step counts as a sleep. */
const WALL_STEP_MS = 250
/** The clock that continues during a sleep may count whole seconds. */
const UPTIME_STEP_MS = 1500

/**
 * Counts sleeps of the machine.
 *
 * - `count` is cheap. It compares the wall clock, so a step of that one forwards counts as well.
 * - `look` asks the clock that continues during a sleep. Call it now and then: it finds a sleep after which
 *   the wall clock was wrong.
 * - Neither finds a pause of a virtual machine whose clocks were all stopped.
 */
export class SleepWatch {
  readonly #clock: Clock
  #wallOffsetMs: number
  #uptimeOffsetMs: number
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#wallOffsetMs = clock.nowMs() - clock.monotonicMs()
    this.#uptimeOffsetMs = clock.uptimeMs() - clock.monotonicMs()
  }

  count(): number {
    const offsetMs = this.#clock.nowMs() - this.#clock.monotonicMs()
    if (offsetMs - this.#wallOffsetMs > WALL_STEP_MS) this.#count += 1
    this.#wallOffsetMs = offsetMs
    return this.#count
  }

  look(): void {
    this.count()
    const offsetMs = this.#clock.uptimeMs() - this.#clock.monotonicMs()
    if (offsetMs - this.#uptimeOffsetMs <= UPTIME_STEP_MS) return
    this.#uptimeOffsetMs = offsetMs
    this.#count += 1
  }
}
