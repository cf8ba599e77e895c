// The only file that reads the time of day or sets a timer. All other code receives a Clock.

import { uptime } from 'node:os'

/**
 * Time as a dependency. Contract:
 * - `nowMs` is wall-clock time and may step backwards.
 * - `monotonicMs` never steps backwards. It stops while the machine sleeps.
 * - `uptimeMs` continues while the machine sleeps. It is coarse and costs a system call.
 * - `after` calls `act` once, after `ms`, unless the returned function was called before.
 * - `sleep` resolves after `ms`, or rejects with the signal's reason as soon as it aborts.
 * - `every` calls `task` again `periodMs` after the previous call has *finished*, so calls never
 *   overlap. The returned function stops it and resolves when a running call has ended.
 */
export interface Clock {
  nowMs(): number
  monotonicMs(): number
  uptimeMs(): number
  after(ms: number, act: () => void): () => void
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  every(periodMs: number, task: () => Promise<void>): () => Promise<void>
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  uptimeMs: () => uptime() * 1000,
  after: (ms, act) => afterReal(ms, act),
  sleep: (ms, signal) => sleepReal(ms, signal),
  every: (periodMs, task) => everyReal(periodMs, task),
}

/**
 * What to add to `systemClock.monotonicMs()` of this thread to get a time that all threads of the process
 * share: each thread's clock begins with the thread.
 */
export function threadOffsetMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now()
}

/** What a deadline has left may be below 0 when its timer is set, of which Node would warn on standard error. */
function timerMs(ms: number): number {
  return Math.max(0, ms)
}

function afterReal(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, timerMs(ms))
  return () => clearTimeout(timer)
}

function sleepReal(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, timerMs(ms))
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function everyReal(periodMs: number, task: () => Promise<void>): () => Promise<void> {
  const stop = new AbortController()
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await sleepReal(periodMs, stop.signal)
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

interface Sleeper {
  readonly wakeAtMs: number
  wake(): void
}

/** A clock whose time changes only when a test advances it. */
export class ManualClock implements Clock {
  #nowMs: number
  #monotonicMs = 0
  #suspendedMs = 0
  readonly #sleepers = new Set<Sleeper>()

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  uptimeMs(): number {
    return this.#monotonicMs + this.#suspendedMs
  }

  /** Advances all clocks and wakes the sleepers that are due, earliest first. */
  advance(ms: number): void {
    this.#nowMs += ms
    this.#monotonicMs += ms
    const due = [...this.#sleepers].filter(({ wakeAtMs }) => wakeAtMs <= this.#monotonicMs)
    for (const sleeper of due.toSorted((a, b) => a.wakeAtMs - b.wakeAtMs)) sleeper.wake()
  }

  /** Steps only the wall clock, as an administrator or NTP would. */
  stepWall(ms: number): void {
    this.#nowMs += ms
  }

  /** Lets the machine sleep for `ms`: timers and monotonic time stop. */
  suspend(ms: number): void {
    this.#nowMs += ms
    this.#suspendedMs += ms
  }

  after(ms: number, act: () => void): () => void {
    const sleeper: Sleeper = {
      wakeAtMs: this.#monotonicMs + ms,
      wake: () => {
        this.#sleepers.delete(sleeper)
        act()
      },
    }
    this.#sleepers.add(sleeper)
    return () => void this.#sleepers.delete(sleeper)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const onAbort = (): void => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = this.after(ms, () => {
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
