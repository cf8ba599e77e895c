import type { Clock } from '../../lib/clock.ts'
import { millisOf, type HybridClock } from './hybrid-clock.ts'

/**
 * A Clock whose time of day is hybrid time. Code that judges documents by time uses it, so a query
 * and a lookup agree on expiry even if the wall clock leaps.
 */
export class DocumentClock implements Clock {
  readonly #clock: Clock
  readonly #hybridClock: HybridClock

  constructor(clock: Clock, hybridClock: HybridClock) {
    this.#clock = clock
    this.#hybridClock = hybridClock
  }

  nowMs(): number {
    return millisOf(this.#hybridClock.readPoint())
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  uptimeMs(): number {
    return this.#clock.uptimeMs()
  }

  after(ms: number, act: () => void): () => void {
    return this.#clock.after(ms, act)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal)
  }

  every(periodMs: number, task: () => Promise<void>): () => Promise<void> {
    return this.#clock.every(periodMs, task)
  }
}
