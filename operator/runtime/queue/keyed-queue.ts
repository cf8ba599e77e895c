// Which keys wait for a pass, and when.
//
//             add                   take                 finish
//   idle ───────────► waiting ───────────► in work ───────────► idle
//     │ addAfter, retry  ▲                    │ added meanwhile    ▲
//     └────► delayed ────┘                    └────► waiting ──────┘
//
// Invariants:
//   KQ1  A key is in the work of one worker at most.
//   KQ2  After an add of a key, a pass of it begins: an add during a pass leads to another pass.
//   KQ3  A key waits once, however often it is added.
//   KQ4  A delayed key waits from the earliest moment on that was asked for since its last pass began.
//   KQ5  Keys are taken in the order in which they began to wait.
//   KQ6  The n-th retry in a row waits a random part of 2^n s, at most 5 min, and at least what it is told.
//   KQ7  A retry that is due takes one of the tokens of all keys, or waits for one: 100 at once, then 10 a second.

import { Alarm } from '../../../lib/alarm.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Histogram } from '../../../lib/metrics.ts'
import type { Random } from '../../../lib/random.ts'
import { TokenBucket } from './token-bucket.ts'

export const RETRY_BASE_MS = 1000
export const RETRY_CAP_MS = 5 * 60_000
/** Conflicts in a row that are retried at once. */
export const CONFLICTS_AT_ONCE_MAX = 5
const RETRIES_PER_SECOND = 10
const RETRIES_BURST = 100
const WAIT_BUCKETS_S = [0.005, 0.05, 0.25, 1, 5, 15, 60, 300]

/** Where a queue has its time and its chance from. */
export interface QueueOptions {
  readonly clock: Clock
  readonly random: Random
}

/** What the queue knows of itself at a moment. */
export interface QueueFigures {
  readonly waiting: number
  readonly delayed: number
  readonly inWork: number
  readonly adds: number
  readonly retries: number
  /** How long the key that was first to wait has waited; 0 if none does. */
  readonly oldestWaitMs: number
  /** How long the longest pass under way has lasted. */
  readonly longestWorkMs: number
}

/**
 * A queue of keys in which each key is once. It is bounded by the number of keys, which are the names of objects.
 *
 * - `add`: a pass of the key begins as soon as a worker is free.
 * - `addAfter`: the same, after a time, unless something asks for an earlier pass.
 * - `retry`: the same, after a time that grows with each retry until `forget`.
 * - `take` answers the next key or undefined. Its taker calls `finish` once.
 * - `whenWaiting` calls once, when a key waits: at once if one does.
 */
export class KeyedQueue {
  readonly waited = new Histogram(WAIT_BUCKETS_S)
  readonly worked = new Histogram(WAIT_BUCKETS_S)
  readonly #clock: Clock
  readonly #random: Random
  readonly #retryTokens: TokenBucket
  readonly #alarm: Alarm
  /** Since when each key waits, in the order of their coming. */
  readonly #waiting = new Map<string, number>()
  readonly #dueMs = new Map<string, number>()
  /** The delayed keys that are retries. */
  readonly #retrying = new Set<string>()
  readonly #workSinceMs = new Map<string, number>()
  readonly #addedInWork = new Set<string>()
  readonly #failures = new Map<string, number>()
  #listeners: (() => void)[] = []
  #adds = 0
  #retries = 0

  constructor({ clock, random }: QueueOptions) {
    this.#clock = clock
    this.#random = random
    this.#retryTokens = new TokenBucket({ perSecond: RETRIES_PER_SECOND, burst: RETRIES_BURST })
    this.#alarm = new Alarm(clock, () => this.#wakeDue())
  }

  add(key: string): void {
    this.#adds += 1
    this.#dueMs.delete(key)
    this.#retrying.delete(key)
    if (this.#workSinceMs.has(key)) this.#addedInWork.add(key)
    else this.#wait(key)
  }

  addAfter(key: string, afterMs: number): void {
    if (afterMs <= 0) this.add(key)
    else this.#delay(key, afterMs)
  }

  /** Another pass after a failed one, at `atLeastMs` or later. */
  retry(key: string, atLeastMs = 0): void {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    const ceilingMs = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** Math.min(failures, 30))
    this.#retryAfter(key, Math.max(atLeastMs, this.#random() * ceilingMs))
  }

  /** Another pass at once: the failed one had read what is outdated now. */
  retryConflict(key: string): void {
    const failures = this.#failures.get(key) ?? 0
    if (failures >= CONFLICTS_AT_ONCE_MAX) return this.retry(key)
    this.#failures.set(key, failures + 1)
    this.#retryAfter(key, 0)
  }

  /** The next retry of the key is a first one. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  take(): string | undefined {
    const [next] = this.#waiting
    if (next === undefined) return undefined
    const [key, sinceMs] = next
    const nowMs = this.#clock.monotonicMs()
    this.#waiting.delete(key)
    this.#workSinceMs.set(key, nowMs)
    this.waited.observe((nowMs - sinceMs) / 1000)
    return key
  }

  finish(key: string): void {
    const sinceMs = this.#workSinceMs.get(key)
    if (sinceMs === undefined) return
    this.#workSinceMs.delete(key)
    this.worked.observe((this.#clock.monotonicMs() - sinceMs) / 1000)
    if (this.#addedInWork.delete(key)) this.#wait(key)
  }

  whenWaiting(call: () => void): void {
    if (this.#waiting.size > 0) call()
    else this.#listeners.push(call)
  }

  /** No moment rings any more. */
  close(): void {
    this.#alarm.cancel()
    this.#dueMs.clear()
    this.#retrying.clear()
  }

  figures(): QueueFigures {
    const nowMs = this.#clock.monotonicMs()
    const [first = nowMs] = this.#waiting.values()
    const [longest = nowMs] = this.#workSinceMs.values()
    return {
      waiting: this.#waiting.size,
      delayed: this.#dueMs.size,
      inWork: this.#workSinceMs.size,
      adds: this.#adds,
      retries: this.#retries,
      oldestWaitMs: nowMs - first,
      longestWorkMs: nowMs - longest,
    }
  }

  #retryAfter(key: string, afterMs: number): void {
    this.#retries += 1
    if (this.#delay(key, afterMs)) this.#retrying.add(key)
    if (afterMs === 0) this.#wakeDue()
  }

  /** Whether this is the earliest moment of the key. */
  #delay(key: string, afterMs: number): boolean {
    if (this.#waiting.has(key) || this.#addedInWork.has(key)) return false
    const dueMs = this.#clock.monotonicMs() + afterMs
    if (dueMs >= (this.#dueMs.get(key) ?? Infinity)) return false
    this.#dueMs.set(key, dueMs)
    this.#alarm.ringBy(dueMs)
    return true
  }

  #wait(key: string): void {
    if (this.#waiting.has(key)) return
    this.#waiting.set(key, this.#clock.monotonicMs())
    for (const listener of this.#listeners.splice(0)) listener()
  }

  #wakeDue(): void {
    const nowMs = this.#clock.monotonicMs()
    const due = [...this.#dueMs].filter(([, dueMs]) => dueMs <= nowMs)
    for (const [key] of due.toSorted(([, a], [, b]) => a - b)) {
      if (!this.#retrying.has(key) || this.#retryTokens.tryTake(nowMs)) this.add(key)
    }
    const tokenMs = nowMs + this.#retryTokens.waitMs(nowMs)
    for (const [key, dueMs] of this.#dueMs) {
      this.#alarm.ringBy(this.#retrying.has(key) ? Math.max(dueMs, tokenMs) : dueMs)
    }
  }
}
