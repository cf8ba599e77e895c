// Decides whether a failed call is sent again, and when. Pure.
//
// Invariants:
//   R1  A call that may have been carried out is sent again only if a second execution is harmless.
//   R2  No call is sent again before the time that the server asked for.

import {
  ConflictError,
  ConnectionError,
  NotLeaderError,
  OverloadedError,
  RangeMovedError,
  TooFewInSyncError,
  UnavailableError,
} from './errors.ts'

/**
 * When a call may be sent again:
 * - `always`: two executions have the effect of one. This holds for reads, replacements, and writes with
 *   an idempotency key.
 * - `if_refused`: only after the server said that it changed nothing.
 */
export type Repeatable = 'always' | 'if_refused'

/** The limits of retries. */
export interface RetryOptions {
  /** The most attempts, including the first; 1 turns retries off. */
  readonly attemptsMax: number
  /** The longest delay before the second attempt. It doubles with each attempt. */
  readonly firstDelayMs: number
  /** The longest delay. If the server asks for a longer one, the call fails. */
  readonly delayMsMax: number
}

export const RETRY_DEFAULTS: RetryOptions = {
  attemptsMax: 4,
  firstDelayMs: 200,
  delayMsMax: 10_000,
}

/** A failed attempt. */
export interface Failure {
  readonly error: unknown
  readonly repeatable: Repeatable
  /** The number of attempts so far. */
  readonly attempts: number
}

/**
 * The delay before the next attempt in ms; undefined: the call has failed. `chance` is a random number
 * from 0 to 1, so that clients that failed together retry at different times.
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
function didNothing(error: unknown): error is DidNothing {
  return DID_NOTHING.some((Class) => error instanceof Class)
}

const DID_NOTHING = [OverloadedError, NotLeaderError, RangeMovedError, TooFewInSyncError] as const
type DidNothing = InstanceType<(typeof DID_NOTHING)[number]>

function mayRepeat(error: unknown, repeatable: Repeatable): boolean {
  if (didNothing(error)) return true
  // Without `conflict`, another transaction held a key for a moment. With `conflict`, a version has
  // changed, and the caller must read again.
  if (error instanceof ConflictError) return error.conflict === undefined
  const isUnknown = error instanceof ConnectionError || error instanceof UnavailableError
  return isUnknown && repeatable === 'always'
}

/** Parses the header `Retry-After`: seconds or a date (RFC 9110, 10.2.3). */
export function parseRetryAfterMs(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}
