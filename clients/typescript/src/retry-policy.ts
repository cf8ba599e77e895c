// Which calls are sent again, and when. Pure.
//
// Invariants:
//   R1  A call that might have been carried out is sent again only if that changes nothing.
//   R2  No call is sent again before the time that the server asked for.

import {
  ConflictError,
  ConnectionError,
  NotLeaderError,
  OverloadedError,
  RangeMovedError,
  UnavailableError,
} from './errors.ts'

/**
 * - `always`: carrying it out twice is the same as once: reads, replacements, and writes that carry an
 *   idempotency key.
 * - `if_refused`: only when the server said that it did nothing.
 */
export type Repeatable = 'always' | 'if_refused'

export interface RetryOptions {
  /** The first one included; 1 turns retries off. */
  readonly attemptsMax: number
  /** The most that is waited before the second attempt; doubles with each one. */
  readonly firstDelayMs: number
  /** A server that asks for more than this is not asked again. */
  readonly delayMsMax: number
}

export const RETRY_DEFAULTS: RetryOptions = {
  attemptsMax: 4,
  firstDelayMs: 200,
  delayMsMax: 10_000,
}

export interface Failure {
  readonly error: unknown
  readonly repeatable: Repeatable
  /** How often the call was sent. */
  readonly attempts: number
}

/**
 * How long to wait before the next attempt, in milliseconds; undefined if the call has failed.
 * `chance` is from 0 up to 1: clients that failed together come back apart.
 */
export function retryDelayMs(
  { error, repeatable, attempts }: Failure,
  { attemptsMax, firstDelayMs, delayMsMax }: RetryOptions,
  chance: number,
): number | undefined {
  if (attempts >= attemptsMax || !mayRepeat(error, repeatable)) return undefined
  const asked = didNothing(error) || error instanceof UnavailableError
  const leastMs = asked ? (error.retryAfterMs ?? 0) : 0
  if (leastMs > delayMsMax) return undefined
  const spreadMs = chance * Math.min(delayMsMax, firstDelayMs * 2 ** (attempts - 1))
  return Math.min(delayMsMax, leastMs + spreadMs)
}

/** The server said so. */
function didNothing(error: unknown): error is OverloadedError | NotLeaderError | RangeMovedError {
  return [OverloadedError, NotLeaderError, RangeMovedError].some((Class) => error instanceof Class)
}

function mayRepeat(error: unknown, repeatable: Repeatable): boolean {
  if (didNothing(error)) return true
  // Without `conflict` another transaction held a key for a moment. With it a version has changed, and
  // the caller has to look again.
  if (error instanceof ConflictError) return error.conflict === undefined
  const isUnknown = error instanceof ConnectionError || error instanceof UnavailableError
  return isUnknown && repeatable === 'always'
}

/** From the header `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). */
export function parseRetryAfterMs(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}
