import type { Clock } from '../../lib/clock.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'

/** A pin ends after this time, so that history kept for a slow reader cannot fill the disk. */
export const PIN_MAX_MS = 3_600_000

/** Keeps the history at one timestamp until it is disposed, for at most PIN_MAX_MS. */
export interface ReadPin extends Disposable {
  /** False after PIN_MAX_MS: from then on collection may remove the history that it kept. */
  isHeld(): boolean
}

interface Held {
  readonly at: Timestamp
  readonly sinceMs: number
}

/** The timestamps at which somebody is reading: history at and above the oldest one must stay. */
export class ReadPins {
  readonly #clock: Clock
  readonly #held = new Set<Held>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  pin(at: Timestamp): ReadPin {
    const held: Held = { at, sinceMs: this.#clock.monotonicMs() }
    this.#held.add(held)
    return {
      isHeld: () => this.#held.has(held) && !this.#isTooOld(held),
      [Symbol.dispose]: () => {
        this.#held.delete(held)
      },
    }
  }

  oldest(): Timestamp | undefined {
    let oldest: Timestamp | undefined
    for (const held of this.#held) {
      if (this.#isTooOld(held)) continue
      if (oldest === undefined || held.at < oldest) oldest = held.at
    }
    return oldest
  }

  #isTooOld({ sinceMs }: Held): boolean {
    return this.#clock.monotonicMs() - sinceMs > PIN_MAX_MS
  }
}
