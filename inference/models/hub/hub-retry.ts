import { Backoff } from '../../../lib/backoff.ts'
import type { BackoffPolicy } from '../../../lib/backoff.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Random } from '../../../lib/random.ts'
import { HubTrouble } from './hub-client.ts'

/** About two minutes of a hub that does nothing but fail. */
const RETRY: BackoffPolicy = { baseMs: 500, capMs: 30_000, retriesMax: 8 }
const RETRY_AFTER_MS_MAX = 300_000

export interface RetryParts {
  readonly clock: Clock
  readonly random: Random
  /** An attempt failed, otherwise than the last, and there will be another. */
  readonly onRetry: (why: string) => void
}

/** Waits after trouble with the hub; gives up after many in a row. */
export class HubRetry {
  readonly #parts: RetryParts
  #backoff: Backoff
  /** The same trouble again is no news. */
  #told: string | undefined

  constructor(parts: RetryParts) {
    this.#parts = parts
    this.#backoff = new Backoff(RETRY, parts.clock, parts.random)
  }

  /** Throws what is no trouble of the hub, and UNAVAILABLE when there was too much of it. */
  async after(error: unknown, signal: AbortSignal): Promise<void> {
    if (!(error instanceof HubTrouble)) throw error
    const atLeastMs = Math.min(error.afterMs, RETRY_AFTER_MS_MAX)
    if (error.message !== this.#told) this.#parts.onRetry(error.message)
    this.#told = error.message
    if (await this.#backoff.wait({ atLeastMs, signal })) return
    const message = `${error.message}; pull again to go on where it stopped`
    throw new ServiceError('UNAVAILABLE', message, { cause: error })
  }

  /** There was progress: failures are counted anew. */
  reset(): void {
    this.#told = undefined
    this.#backoff = new Backoff(RETRY, this.#parts.clock, this.#parts.random)
  }
}
