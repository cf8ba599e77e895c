import { assert } from '../../../lib/assert.ts'

/** How fast tokens come, and how many are kept. */
export interface TokenRate {
  readonly perSecond: number
  readonly burst: number
}

/**
 * Tokens that fill up at a steady rate. Contract:
 * - `tryTake` takes a token if one is there.
 * - `waitMs` answers how long it is until a token is there, if nobody takes one meanwhile.
 * - In any span of s seconds, at most `burst + perSecond × s` tokens are taken.
 * - Moments are monotonic. A moment before the previous one counts as the previous one.
 */
export class TokenBucket {
  readonly #rate: TokenRate
  #tokens: number
  #atMs = -Infinity

  constructor(rate: TokenRate) {
    assert(rate.perSecond > 0 && rate.burst >= 1, 'a bucket fills up and holds a token')
    this.#rate = rate
    this.#tokens = rate.burst
  }

  waitMs(atMs: number): number {
    this.#fill(atMs)
    return (Math.max(0, 1 - this.#tokens) / this.#rate.perSecond) * 1000
  }

  tryTake(atMs: number): boolean {
    this.#fill(atMs)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** Whether nothing tells it from a new one. */
  isFull(atMs: number): boolean {
    this.#fill(atMs)
    return this.#tokens >= this.#rate.burst
  }

  #fill(atMs: number): void {
    if (atMs <= this.#atMs) return
    const seconds = (atMs - this.#atMs) / 1000
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + seconds * this.#rate.perSecond)
    this.#atMs = atMs
  }
}
