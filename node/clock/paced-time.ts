// Milliseconds that follow the wall clock at the pace of the monotonic clock. An administrator, NTP
// or the move of a virtual machine can make a wall clock leap. This time then neither deletes fresh
// data nor delays work that is due.
//
// Invariants:
//   PT1  While the machine is awake, time advances at 1 - SLEW_RATIO to 1 + SLEW_RATIO of the
//        monotonic clock, whatever the wall clock does. So it never stops, and a measured span is
//        wrong by 5 % at most.
//   PT2  An offset to a steady wall clock shrinks by SLEW_RATIO of the time that passes: an offset
//        of two hours is gone after 40 hours. A new start adopts a wall clock that is ahead at once.
//   PT3  Time leaps only after the machine has slept, and only as far as both the machine's uptime
//        and the wall clock report.

import type { Clock } from '../../lib/clock.ts'

export const SLEW_RATIO = 0.05
/** Reading the machine's uptime costs a system call, so not every stamp reads it. */
const SLEEP_CHECK_PERIOD_MS = 1000
/** Uptime is coarse. A shorter sleep is an offset like any other (PT2). */
const SLEEP_MIN_MS = 2000

/** The physical time of one HybridClock. */
export class PacedTime {
  readonly #clock: Clock
  #ms: number
  #monotonicMs: number
  #sleepCheck: { readonly monotonicMs: number; readonly uptimeMs: number }

  /** Starts at the wall clock, but not below `atLeastMs`. */
  constructor(clock: Clock, atLeastMs: number) {
    this.#clock = clock
    this.#ms = Math.max(clock.nowMs(), atLeastMs)
    this.#monotonicMs = clock.monotonicMs()
    this.#sleepCheck = { monotonicMs: this.#monotonicMs, uptimeMs: clock.uptimeMs() }
  }

  /** Whole milliseconds since 1970. Never decreases. */
  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs()
    const passedMs = monotonicMs - this.#monotonicMs
    if (passedMs > 0) {
      this.#monotonicMs = monotonicMs
      this.#ms += passedMs
      const slewMs = passedMs * SLEW_RATIO
      this.#ms += Math.max(-slewMs, Math.min(this.#clock.nowMs() - this.#ms, slewMs))
    }
    if (monotonicMs - this.#sleepCheck.monotonicMs >= SLEEP_CHECK_PERIOD_MS) this.#addSleep()
    return Math.max(0, Math.floor(this.#ms))
  }

  /** The monotonic time of the last `nowMs`. */
  get readAtMs(): number {
    return this.#monotonicMs
  }

  /** From now on, time is not below `ms`. */
  raiseTo(ms: number): void {
    this.#ms = Math.max(this.nowMs(), ms)
  }

  /** How far the wall clock is ahead, in ms; negative if it is behind. */
  offsetMs(): number {
    return this.#clock.nowMs() - this.nowMs()
  }

  #addSleep(): void {
    const before = this.#sleepCheck
    const monotonicMs = this.#monotonicMs
    const uptimeMs = this.#clock.uptimeMs()
    this.#sleepCheck = { monotonicMs, uptimeMs }
    const sleptMs = uptimeMs - before.uptimeMs - (monotonicMs - before.monotonicMs)
    if (sleptMs < SLEEP_MIN_MS) return
    const aheadMs = this.#clock.nowMs() - this.#ms
    this.#ms += Math.max(0, Math.min(sleptMs, aheadMs))
  }
}
