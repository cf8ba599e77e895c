import type { Clock } from '../../../../lib/clock.ts'
import type { VirtualTime } from '../virtual-time.ts'

const START_MS = 1_700_000_000_000

/**
 * The clock of one life of a node in virtual time.
 *
 * - `rate` is how much faster than the world it runs, and holds for all of a life. `setOffset` moves the wall clock.
 * - While the process is frozen, nothing of it happens; what is due meanwhile happens at the thaw, in order.
 * - After `end` nothing of the process happens any more.
 */
export class NodeClock implements Clock {
  readonly #time: VirtualTime
  readonly #rate: number
  #offsetMs: number
  #frozenUntilMs = 0
  #isOver = false
  readonly #held: (() => void)[] = []

  constructor(time: VirtualTime, { rate = 1, offsetMs = 0 }: { rate?: number; offsetMs?: number }) {
    this.#time = time
    this.#rate = rate
    this.#offsetMs = offsetMs
  }

  get isFrozen(): boolean {
    return this.#time.nowMs < this.#frozenUntilMs
  }

  get isOver(): boolean {
    return this.#isOver
  }

  nowMs(): number {
    return Math.floor(START_MS + this.monotonicMs() + this.#offsetMs)
  }

  monotonicMs(): number {
    return this.#time.nowMs * this.#rate
  }

  uptimeMs(): number {
    return this.monotonicMs()
  }

  /** Sets the wall clock to so much beside the right time. */
  setOffset(ms: number): void {
    this.#offsetMs = ms
  }

  freeze(forMs: number): void {
    if (this.isFrozen) return
    this.#frozenUntilMs = this.#time.nowMs + forMs
    this.#time.after(forMs, () => {
      for (const run of this.#held.splice(0)) this.whenAwake(run)
    })
  }

  end(): void {
    this.#isOver = true
    this.#held.length = 0
  }

  /** Runs now, or at the thaw, or never. */
  whenAwake(run: () => void): void {
    if (this.#isOver) return
    if (this.isFrozen || this.#held.length > 0) this.#held.push(run)
    else run()
  }

  /** After so much time of this clock. */
  after(ms: number, act: () => void): () => void {
    let isCancelled = false
    const due = (): void => {
      if (!isCancelled) act()
    }
    this.#time.after(Math.max(0, ms) / this.#rate, () => this.whenAwake(due))
    return () => {
      isCancelled = true
    }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const onAbort = (): void => reject(signal?.reason)
      this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  every(periodMs: number, task: () => Promise<void>): () => Promise<void> {
    const stop = new AbortController()
    const run = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        try {
          await this.sleep(periodMs, stop.signal)
        } catch {
          return // stopped during the sleep
        }
        await task()
      }
    }
    const running = run()
    return () => {
      stop.abort()
      return running
    }
  }
}
