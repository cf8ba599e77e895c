import type { Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'

const WINDOW_MS = 10_000
/** Warnings in a window. Those that are left out are counted in the first one of a later window. */
const WARNINGS_MAX = 5

/** Warns of connections that were refused, a few in each window so that a flood of them does not fill the log. */
export class RefusalLog {
  readonly #log: Log
  readonly #clock: Clock
  #windowMs = -Infinity
  #warnings = 0
  #leftOut = 0

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  add(remote: string, reason: string): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#windowMs >= WINDOW_MS) {
      this.#windowMs = nowMs
      this.#warnings = 0
    }
    if (this.#warnings === WARNINGS_MAX) {
      this.#leftOut += 1
      return
    }
    this.#warnings += 1
    const others = this.#leftOut === 0 ? {} : { others: this.#leftOut }
    this.#leftOut = 0
    this.#log.warn('peer refused', { remote, reason, ...others })
  }
}
