import type { Clock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'

/** A store that refuses connections at once is not asked all the time. */
const RETRY_MS = 500

/** Who waits, and until when. */
export interface Waiting {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * The result of `step`, which is repeated as long as it rejects with UNAVAILABLE. Each time is logged. Any other
 * error ends the wait. When `signal` has aborted, the wait rejects with its reason after the step that runs.
 */
export async function untilAnswered<Result>(
  step: () => Promise<Result>,
  { clock, log, signal }: Waiting,
): Promise<Result> {
  for (;;) {
    signal.throwIfAborted()
    try {
      return await step()
    } catch (error) {
      signal.throwIfAborted()
      if (!isServiceError(error) || error.code !== 'UNAVAILABLE') throw error
      log.warn('this start waits for the coordination store', { reason: error.message })
    }
    await clock.sleep(RETRY_MS, signal)
  }
}
