import { ManualClock } from '../../lib/clock.ts'

/** Time passes, and its timers ring when the test says so: other work may come after a due moment and before its timer. */
export class LateClock extends ManualClock {
  #lateMs = 0

  override monotonicMs(): number {
    return super.monotonicMs() + this.#lateMs
  }

  override nowMs(): number {
    return super.nowMs() + this.#lateMs
  }

  /** Time passes while the thread is busy: no timer rings. */
  pass(ms: number): void {
    this.#lateMs += ms
  }

  /** All timers that are due ring. */
  deliver(): void {
    const lateMs = this.#lateMs
    this.#lateMs = 0
    this.advance(lateMs)
  }

  /** A timer is set by the time that has passed. */
  override after(ms: number, act: () => void): () => void {
    return super.after(ms + this.#lateMs, act)
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(ms + this.#lateMs, signal)
  }
}
