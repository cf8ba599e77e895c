// Refusals of the API server, and what each asks of the operator.

import { isJsonRecord, isText } from '../../../lib/json-record.ts'
import { messageOf } from '../../../lib/errors.ts'

/** The status of a request that was not answered: a timeout, a closed connection, an unknown host. */
export const NO_ANSWER = 0

/** One of the reasons behind a refusal: `field` is the path of a field, or empty. */
export interface ApiCause {
  readonly reason: string
  readonly field: string
  readonly message: string
}

/** What the API says of a refusal, without its message. */
export interface ApiRefusal {
  readonly status: number
  /** A word of the API such as `Conflict`, `Expired` or `Forbidden`; empty if it gave none. */
  readonly reason: string
  readonly causes: readonly ApiCause[]
  readonly retryAfterMs?: number
}

/** The API server refused a request, or did not answer it. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly reason: string
  readonly causes: readonly ApiCause[]
  readonly retryAfterMs: number | undefined

  constructor(message: string, refusal: ApiRefusal, options?: ErrorOptions) {
    super(message, options)
    this.status = refusal.status
    this.reason = refusal.reason
    this.causes = refusal.causes
    this.retryAfterMs = refusal.retryAfterMs
  }
}

/** This process does not lead (any more), so it may not write. Nothing was sent. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError'
}

/** A server other than the API did not do what a pass asked of it, and may do it later. Its own error is the `cause`. */
export class TransientError extends Error {
  override readonly name = 'TransientError'
}

/**
 * What an error of a pass asks of the operator.
 * - `conflict`: somebody else was first. Read again and decide anew, at once.
 * - `throttled`: not before `retryAfterMs`, if given.
 * - `transient`: the API server, or another one that a pass asks, is away or ill. Back off.
 * - `forbidden`: permissions, quota, Pod Security, admission. Show the message, and back off.
 * - `invalid`: the API does not take this object. Show the message; another try needs another spec.
 * - `absent`: the kind is not served, or the object or its namespace is gone.
 * - `expired`: the history that was asked for is gone. List again.
 * - `not-leading`: another process decides.
 * - `stopped`: this process ends.
 * - `bug`: nobody expected it.
 */
export type ErrorClass =
  | 'conflict'
  | 'throttled'
  | 'transient'
  | 'forbidden'
  | 'invalid'
  | 'absent'
  | 'expired'
  | 'not-leading'
  | 'stopped'
  | 'bug'

const CLASS_BY_STATUS: Readonly<Record<number, ErrorClass>> = {
  [NO_ANSWER]: 'transient',
  400: 'invalid',
  401: 'forbidden',
  403: 'forbidden',
  404: 'absent',
  405: 'invalid',
  406: 'invalid',
  408: 'transient',
  409: 'conflict',
  410: 'expired',
  413: 'invalid',
  415: 'invalid',
  422: 'invalid',
  429: 'throttled',
}

export function classifyError(error: unknown): ErrorClass {
  if (error instanceof NotLeadingError) return 'not-leading'
  if (error instanceof TransientError) return 'transient'
  if (error instanceof ApiError) {
    return CLASS_BY_STATUS[error.status] ?? (error.status >= 500 ? 'transient' : 'invalid')
  }
  return error instanceof Error && error.name === 'AbortError' ? 'stopped' : 'bug'
}

/** Creation in a namespace that is being deleted is refused permanently, which is not a lack of permission. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.causes.some(({ reason }) => reason === 'NamespaceTerminating')
  )
}

/** How long to wait at least before the next try. */
export function retryAfterMsOf(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0
}

/** The refusal in a `Status` object of the API, or in the text that a proxy sent instead of one. */
export function apiErrorOf(
  status: number,
  body: unknown,
  { retryAfterMs }: { readonly retryAfterMs?: number | undefined } = {},
): ApiError {
  const record = isJsonRecord(body) ? body : {}
  const details = isJsonRecord(record['details']) ? record['details'] : {}
  const seconds = details['retryAfterSeconds']
  const waitMs = retryAfterMs ?? (typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : 0)
  const message = isText(record['message']) ? record['message'] : `the API answered ${status}`
  return new ApiError(message, {
    status,
    reason: isText(record['reason']) ? record['reason'] : '',
    causes: causesOf(details['causes']),
    ...(waitMs > 0 ? { retryAfterMs: waitMs } : {}),
  })
}

/** The failure of a request that got no answer. */
export function unansweredError(cause: unknown): ApiError {
  const inner = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause
  const message = `the API did not answer: ${messageOf(inner)}`
  return new ApiError(message, { status: NO_ANSWER, reason: '', causes: [] }, { cause })
}

function causesOf(value: unknown): readonly ApiCause[] {
  if (!Array.isArray(value)) return []
  return value.filter(isJsonRecord).map((cause) => ({
    reason: textOr(cause['reason']),
    field: textOr(cause['field']),
    message: textOr(cause['message']),
  }))
}

function textOr(value: unknown): string {
  return isText(value) ? value : ''
}
