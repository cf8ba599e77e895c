// The real clock with a wall clock that leaps at random, as if administrators fought over it.

import { systemClock, type Clock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'

const LEAP_MAX_MS = 3 * 3_600_000
const LEAPS_PER_READING = 0.01

/** Only `nowMs` differs from the system's clock: about every hundredth reading finds it elsewhere. */
export class LeapingClock implements Clock {
  readonly #random: Random
  #offsetMs = 0

  constructor(random: Random) {
    this.#random = random
  }

  nowMs(): number {
    if (this.#random() < LEAPS_PER_READING) {
      this.#offsetMs = Math.round((2 * this.#random() - 1) * LEAP_MAX_MS)
    }
    return systemClock.nowMs() + this.#offsetMs
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  uptimeMs(): number {
    return systemClock.uptimeMs()
  }

  after(ms: number, act: () => void): () => void {
    return systemClock.after(ms, act)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal)
  }

  every(periodMs: number, task: () => Promise<void>): () => Promise<void> {
    return systemClock.every(periodMs, task)
  }
}
