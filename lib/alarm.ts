import type { Clock } from './clock.ts'

/** Timers of Node take no longer time. The alarm then sets the next one. */
const SLEEP_MS_MAX = 2 ** 30

/**
 * One alarm for many moments. Contract:
 * - After `ringBy(atMs)` it rings at that moment or later, or for an earlier one that was asked for, whatever is asked for
 *   meanwhile: a moment that has passed by then, or whose timer is late, rings when the timers have their turn.
 * - It rings once for all moments that were asked for since it rang last. Who still waits asks again.
 * - `ring` is called by the timer alone, never by `ringBy`.
 * - `cancel` forgets all moments.
 */
export class Alarm {
  readonly #clock: Clock
  readonly #ring: () => void
  #atMs = Infinity
  #stop: (() => void) | undefined

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock
    this.#ring = ring
  }

  /** `atMs` is monotonic time. */
  ringBy(atMs: number): void {
    // The timer that is set comes before: it is never given up for a later one.
    if (atMs >= this.#atMs) return
    this.#stop?.()
    this.#atMs = atMs
    const waitMs = Math.ceil(atMs - this.#clock.monotonicMs())
    this.#stop = this.#clock.after(Math.min(SLEEP_MS_MAX, Math.max(0, waitMs)), () => this.#come())
  }

  cancel(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#atMs = Infinity
  }

  /** Timers may be early by a part of a millisecond. */
  #come(): void {
    const atMs = this.#atMs
    this.#stop = undefined
    this.#atMs = Infinity
    if (this.#clock.monotonicMs() < atMs) this.ringBy(atMs)
    else this.#ring()
  }
}
