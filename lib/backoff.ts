import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

export interface BackoffPolicy {
  /** Delay before the first retry, before jitter. */
  readonly baseMs: number
  /** No delay is longer, however many attempts there were. */
  readonly capMs: number
  /** How many retries there are before giving up. */
  readonly retriesMax: number
}

/**
 * The delay before retry number `retry` (from 0): it doubles up to the cap, and its upper half is
 * random. The fixed half keeps a retry from being immediate, the random half keeps many clients
 * that failed together from coming back together.
 */
export function backoffDelayMs(policy: BackoffPolicy, retry: number, random: Random): number {
  // 2 ** 30 is far above any cap, and keeps the product finite for any retry count.
  const ceilingMs = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(retry, 30))
  return ceilingMs / 2 + (random() * ceilingMs) / 2
}

export interface BackoffWait {
  /** What the other side asked for (Retry-After); the wait is never shorter. */
  readonly atLeastMs?: number
  readonly signal?: AbortSignal
}

/** The retries of one piece of work. Not shared: each work has its own count. */
export class Backoff {
  readonly #policy: BackoffPolicy
  readonly #clock: Clock
  readonly #random: Random
  #retries = 0

  constructor(policy: BackoffPolicy, clock: Clock, random: Random) {
    this.#policy = policy
    this.#clock = clock
    this.#random = random
  }

  /** Waits for the next turn; false, at once, when the retries are used up. Rejects on abort. */
  async wait({ atLeastMs = 0, signal }: BackoffWait = {}): Promise<boolean> {
    if (this.#retries >= this.#policy.retriesMax) return false
    const delayMs = backoffDelayMs(this.#policy, this.#retries, this.#random)
    this.#retries += 1
    await this.#clock.sleep(Math.max(delayMs, atLeastMs), signal)
    return true
  }
}
