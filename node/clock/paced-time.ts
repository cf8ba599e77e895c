// Milliseconds that follow the wall clock at the pace of the monotonic clock, so that a wall clock
// which leaps (an administrator, NTP, a virtual machine moved elsewhere) deletes nothing that is fresh
// and holds nothing up that is due.
//
// Invariants:
//   PT1  While the machine is awake, time goes on at 1 - SLEW_RATIO to 1 + SLEW_RATIO of the monotonic
//        clock, whatever the wall clock does. So it never stands still, and a span of it is wrong by
//        5 % at most.
//   PT2  An offset to a steady wall clock shrinks by SLEW_RATIO of the time that passes: one of two
//        hours is gone after 40 hours. A new start takes a wall clock that is ahead at once.
//   PT3  Only sleep of the machine lets time leap, and only as far as both the machine's uptime and
//        the wall clock say that it slept.

import type { Clock } from '../../lib/clock.ts'

export const SLEW_RATIO = 0.05
/** The machine's uptime costs a system call, so it is not asked for each stamp. */
const SLEEP_CHECK_PERIOD_MS = 1000
/** Uptime is coarse; a shorter sleep is caught up with like any other offset. */
const SLEEP_MIN_MS = 2000

export class PacedTime {
  readonly #clock: Clock
  #ms: number
  #monotonicMs: number
  #sleepCheck: { readonly monotonicMs: number; readonly uptimeMs: number }

  /** Begins with the wall clock, but not below `atLeastMs`. */
  constructor(clock: Clock, atLeastMs: number) {
    this.#clock = clock
    this.#ms = Math.max(clock.nowMs(), atLeastMs)
    this.#monotonicMs = clock.monotonicMs()
    this.#sleepCheck = { monotonicMs: this.#monotonicMs, uptimeMs: clock.uptimeMs() }
  }

  /** Whole milliseconds since 1970; never less than before. */
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

  /** Time is not below `ms` from now on. */
  raiseTo(ms: number): void {
    this.#ms = Math.max(this.nowMs(), ms)
  }

  /** How far the wall clock is ahead; negative if it is behind. */
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
