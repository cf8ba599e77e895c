import type { Clock } from '../../../lib/clock.ts'

/** Shorter waits are saved up: a timer is not that exact. */
const WAIT_MS_MIN = 2

/** Spreads bytes over time: all that take from one pace together get its rate. */
export class Pace {
  readonly #clock: Clock
  readonly #bytesPerMs: number
  #freeAtMs = 0

  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock
    this.#bytesPerMs = bytesPerSecond / 1000
  }

  /** Resolves when the bytes may be sent. Rejects with the signal's reason. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const nowMs = this.#clock.monotonicMs()
    const fromMs = Math.max(nowMs, this.#freeAtMs)
    this.#freeAtMs = fromMs + bytes / this.#bytesPerMs
    if (fromMs - nowMs >= WAIT_MS_MIN) await this.#clock.sleep(fromMs - nowMs, signal)
  }
}
