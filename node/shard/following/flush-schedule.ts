import type { Clock } from '../../../lib/clock.ts'

const FLUSH_PERIOD_MS = 30_000

/** When an index has to be flushed: some time after the first change that no flush has covered. */
export class FlushSchedule {
  readonly #clock: Clock
  #dirtySinceMs: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  changed(): void {
    this.#dirtySinceMs ??= this.#clock.monotonicMs()
  }

  flushed(): void {
    this.#dirtySinceMs = undefined
  }

  get isDue(): boolean {
    return this.leftMs !== undefined && this.leftMs <= 0
  }

  /** The time until the next flush; undefined without a change. */
  get leftMs(): number | undefined {
    if (this.#dirtySinceMs === undefined) return undefined
    return this.#dirtySinceMs + FLUSH_PERIOD_MS - this.#clock.monotonicMs()
  }
}
