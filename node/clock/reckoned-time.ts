// The latest time that a node has seen anywhere, and as much more as its monotonic clock has passed since. Ages are
// measured by it: the node's own hybrid time slews after a leap of the wall clock, and stands still while it is behind
// what others have shown.
//
// Invariants:
//   RT1  It is not below any time that was noted in the last WINDOW_MS, plus what has passed since on the monotonic
//        clock.
//   RT2  A time that was noted counts for 2 * WINDOW_MS at most: the clock that gave it may have been ahead.

/** Longer than nodes that talk to each other are ever silent. */
const WINDOW_MS = 600_000

/** Times that were noted, continued by the monotonic clock (RT1). Monotonic times come in their order. */
export class ReckonedTime {
  /** The greatest lead of a noted time over the monotonic clock, in this window and in the one before. */
  #leadMs = -Infinity
  #leadBeforeMs = -Infinity
  #windowMs = -Infinity

  note(ms: number, monotonicMs: number): void {
    if (monotonicMs - this.#windowMs > WINDOW_MS) this.#roll(monotonicMs)
    const leadMs = ms - monotonicMs
    if (leadMs > this.#leadMs) this.#leadMs = leadMs
  }

  /** Something was noted before. */
  at(monotonicMs: number): number {
    return monotonicMs + Math.max(this.#leadMs, this.#leadBeforeMs)
  }

  #roll(monotonicMs: number): void {
    const isNext = monotonicMs - this.#windowMs <= 2 * WINDOW_MS
    this.#leadBeforeMs = isNext ? this.#leadMs : -Infinity
    this.#leadMs = -Infinity
    this.#windowMs = monotonicMs
  }
}
