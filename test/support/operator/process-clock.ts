import { ManualClock } from '../../../lib/clock.ts'
import type { Clock } from '../../../lib/clock.ts'

/** The clock of a process that a test may stop (its timers wait) or put to sleep with its machine (its time stands still). */
export class ProcessClock implements Clock {
  readonly #inner = new ManualClock()
  #held: (() => void)[] = []
  mode: 'running' | 'stopped' | 'asleep' = 'running'

  advance(ms: number): void {
    if (this.mode === 'asleep') this.#inner.suspend(ms)
    else this.#inner.advance(ms)
  }

  resume(): void {
    this.mode = 'running'
    for (const act of this.#held.splice(0)) act()
  }

  /** Resolves when the process runs: an answer that comes earlier waits for it. */
  running(): Promise<void> {
    return new Promise((resolve) => this.#act(resolve))
  }

  nowMs(): number {
    return this.#inner.nowMs()
  }

  monotonicMs(): number {
    return this.#inner.monotonicMs()
  }

  uptimeMs(): number {
    return this.#inner.uptimeMs()
  }

  after(ms: number, act: () => void): () => void {
    let isCancelled = false
    const cancel = this.#inner.after(ms, () => {
      this.#act(() => {
        if (!isCancelled) act()
      })
    })
    return () => {
      isCancelled = true
      cancel()
    }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#inner.sleep(ms, signal).then(() => this.running())
  }

  every(periodMs: number, task: () => Promise<void>): () => Promise<void> {
    return this.#inner.every(periodMs, task)
  }

  #act(act: () => void): void {
    if (this.mode === 'running') act()
    else this.#held.push(act)
  }
}
