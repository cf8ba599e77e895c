import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

/** How retries are spaced, and how many there are. */
export interface BackoffPolicy {
  /** Delay before the first retry, before jitter. */
  readonly baseMs: number
  /** The upper limit of a delay, however many attempts there were. */
  readonly capMs: number
  /** How many retries there are before the work fails. */
  readonly retriesMax: number
}

/**
 * The delay before retry number `retry` (from 0). It doubles up to the cap, and its upper half is
 * random. The fixed half prevents an immediate retry. The random half spreads clients that failed
 * together.
 */
export function backoffDelayMs(policy: BackoffPolicy, retry: number, random: Random): number {
  // 2 ** 30 is far above any cap, and keeps the product finite for any retry count.
  const ceilingMs = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(retry, 30))
  return ceilingMs / 2 + (random() * ceilingMs) / 2
}

/** The conditions of one wait. An aborted `signal` rejects it. */
export interface BackoffWait {
  /** The minimum that the other side asks for (Retry-After), in ms. The wait is never shorter. */
  readonly atLeastMs?: number
  readonly signal?: AbortSignal
}

/** The retries of one piece of work. Each work needs its own object. */
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

  /**
   * Waits for the next retry. Answers false at once if the retries are used up. Rejects on abort.
   */
  async wait({ atLeastMs = 0, signal }: BackoffWait = {}): Promise<boolean> {
    if (this.#retries >= this.#policy.retriesMax) return false
    const delayMs = backoffDelayMs(this.#policy, this.#retries, this.#random)
    this.#retries += 1
    await this.#clock.sleep(Math.max(delayMs, atLeastMs), signal)
    return true
  }
}
