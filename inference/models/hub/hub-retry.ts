import { Backoff } from '../../../lib/backoff.ts'
import type { BackoffPolicy } from '../../../lib/backoff.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Random } from '../../../lib/random.ts'
import { RetryableHubError } from './hub-client.ts'

/** The retries of a hub that always fails last about two minutes. */
const RETRY: BackoffPolicy = { baseMs: 500, capMs: 30_000, retriesMax: 8 }
const RETRY_AFTER_MS_MAX = 300_000

/** The parts of a retry. */
export interface RetryParts {
  readonly clock: Clock
  readonly random: Random
  /** Called before a retry, with the reason, if the reason differs from the last one. */
  readonly onRetry: (why: string) => void
}

/** Waits after a failure of the hub, and gives up after many failures without progress. */
export class HubRetry {
  readonly #parts: RetryParts
  #backoff: Backoff
  /** The last reported reason, which is not reported twice. */
  #reported: string | undefined

  constructor(parts: RetryParts) {
    this.#parts = parts
    this.#backoff = new Backoff(RETRY, parts.clock, parts.random)
  }

  /** Waits before the next attempt. Rethrows final errors; throws UNAVAILABLE after too many failures. */
  async after(error: unknown, signal: AbortSignal): Promise<void> {
    if (!(error instanceof RetryableHubError)) throw error
    const atLeastMs = Math.min(error.afterMs, RETRY_AFTER_MS_MAX)
    if (error.message !== this.#reported) this.#parts.onRetry(error.message)
    this.#reported = error.message
    if (await this.#backoff.wait({ atLeastMs, signal })) return
    const message = `${error.message}; pull again to continue where it stopped`
    throw new ServiceError('UNAVAILABLE', message, { cause: error })
  }

  /** Called after progress. It starts the count of failures again. */
  reset(): void {
    this.#reported = undefined
    this.#backoff = new Backoff(RETRY, this.#parts.clock, this.#parts.random)
  }
}
