// The errors that a call may throw, besides the reason of the caller's AbortSignal.
//
//   QuarryError
//   ├─ ConnectionError     no whole answer arrived; the request may or may not have been carried out
//   └─ ServiceError        the server refused the request; each code of the contract has a subclass

import type { components } from './contract/store.v1.ts'

/** The error codes of the contract. */
export type ErrorCode = components['schemas']['ErrorCode']

/** The parts of a server's refusal. */
export interface Refusal {
  /** A sentence for people. It names the fault and says what to do. */
  readonly message: string
  readonly code: string
  /** The status of the answer; 200 if a stream failed after its beginning. */
  readonly status: number
  /** The headers of the answer; empty if a stream failed after its beginning. */
  readonly headers: Headers
  /** The server's `Retry-After`; undefined if it sent none. */
  readonly retryAfterMs: number | undefined
  /** The parsed JSON of the body, or its text if it is not JSON. */
  readonly body: unknown
}

/** The base class of all errors of this client. */
export class QuarryError extends Error {
  override readonly name: string = 'QuarryError'
}

/**
 * The server could not be reached, or its answer was interrupted or came too late. `cause` holds
 * the reason.
 */
export class ConnectionError extends QuarryError {
  override readonly name = 'ConnectionError'
}

/**
 * The server refused the request. This class itself is used for codes that this version does not
 * know.
 */
export class ServiceError extends QuarryError {
  override readonly name: string = 'ServiceError'
  readonly code: string
  readonly status: number
  readonly headers: Headers
  readonly retryAfterMs: number | undefined
  readonly body: unknown

  constructor({ message, code, status, headers, retryAfterMs, body }: Refusal) {
    super(message)
    this.code = code
    this.status = status
    this.headers = headers
    this.retryAfterMs = retryAfterMs
    this.body = body
  }
}

/** The request is malformed, or a value is out of its range. A retry cannot succeed. */
export class InvalidArgumentError extends ServiceError {
  override readonly name = 'InvalidArgumentError'
}

/** The server forbids the operation. */
export class ForbiddenError extends ServiceError {
  override readonly name = 'ForbiddenError'
}

/** The table, index, model or document does not exist. */
export class NotFoundError extends ServiceError {
  override readonly name = 'NotFoundError'
}

/** The path exists, but not with this HTTP method. */
export class MethodNotAllowedError extends ServiceError {
  override readonly name = 'MethodNotAllowedError'
}

/** A table or an index with this name exists. */
export class AlreadyExistsError extends ServiceError {
  override readonly name = 'AlreadyExistsError'
}

/** Another transaction holds or changed a key. Read again, then write again. */
export class ConflictError extends ServiceError {
  override readonly name = 'ConflictError'
  /** The key whose version changed; undefined unless a version of a commit's `read_set` changed. */
  readonly conflict: Conflict | undefined

  constructor(refusal: Refusal) {
    super(refusal)
    this.conflict = conflictOf(refusal.body)
  }
}

/** The key of a failed commit whose version changed. */
export type Conflict = components['schemas']['CommitAborted']['conflict']

/** The idempotency key was used before for another request. */
export class IdempotencyMismatchError extends ServiceError {
  override readonly name = 'IdempotencyMismatchError'
}

/** The body is larger than the server accepts. */
export class PayloadTooLargeError extends ServiceError {
  override readonly name = 'PayloadTooLargeError'
}

/** The server does not accept the content type of the body. */
export class UnsupportedMediaTypeError extends ServiceError {
  override readonly name = 'UnsupportedMediaTypeError'
}

/** The server has too much work now. It changed nothing, so the client retries. */
export class OverloadedError extends ServiceError {
  override readonly name = 'OverloadedError'
}

/** The server cancelled the operation before its end. */
export class CancelledError extends ServiceError {
  override readonly name = 'CancelledError'
}

/** The server found damaged data on its disk. */
export class CorruptionError extends ServiceError {
  override readonly name = 'CorruptionError'
}

/** The model failed on this input. */
export class InferenceFailedError extends ServiceError {
  override readonly name = 'InferenceFailedError'
}

/** The server failed because of a bug. */
export class InternalError extends ServiceError {
  override readonly name = 'InternalError'
}

/** Nothing was changed: the leader of the shard was not found in time. */
export class NotLeaderError extends ServiceError {
  override readonly name = 'NotLeaderError'
}

/** Nothing was changed: fewer replicas of the shard are in sync than a safe write needs. Reads are served. */
export class TooFewInSyncError extends ServiceError {
  override readonly name = 'TooFewInSyncError'
}

/** Nothing was changed: the shard that owns the key was not found in time. */
export class RangeMovedError extends ServiceError {
  override readonly name = 'RangeMovedError'
}

/** The documents as they were at that time are not kept any more. */
export class HistoryGoneError extends ServiceError {
  override readonly name = 'HistoryGoneError'
}

/** The server cannot serve the request now. A write may or may not have happened. */
export class UnavailableError extends ServiceError {
  override readonly name = 'UnavailableError'
}

/** The operation took longer than its deadline. A write may or may not have happened. */
export class DeadlineExceededError extends ServiceError {
  override readonly name = 'DeadlineExceededError'
}

/** The server's disk is full. The write did not happen. */
export class DiskFullError extends ServiceError {
  override readonly name = 'DiskFullError'
}

type ServiceErrorClass = new (refusal: Refusal) => ServiceError

/** Complete for the contract: a new code does not compile until it has a class. */
const CLASS_BY_CODE: Readonly<Record<ErrorCode, ServiceErrorClass>> = {
  INVALID_ARGUMENT: InvalidArgumentError,
  FORBIDDEN: ForbiddenError,
  NOT_FOUND: NotFoundError,
  METHOD_NOT_ALLOWED: MethodNotAllowedError,
  ALREADY_EXISTS: AlreadyExistsError,
  CONFLICT: ConflictError,
  IDEMPOTENCY_MISMATCH: IdempotencyMismatchError,
  PAYLOAD_TOO_LARGE: PayloadTooLargeError,
  UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaTypeError,
  OVERLOADED: OverloadedError,
  CANCELLED: CancelledError,
  CORRUPTION: CorruptionError,
  INFERENCE_FAILED: InferenceFailedError,
  INTERNAL: InternalError,
  NOT_LEADER: NotLeaderError,
  TOO_FEW_IN_SYNC: TooFewInSyncError,
  RANGE_MOVED: RangeMovedError,
  HISTORY_GONE: HistoryGoneError,
  UNAVAILABLE: UnavailableError,
  DEADLINE_EXCEEDED: DeadlineExceededError,
  DISK_FULL: DiskFullError,
}

const CLASSES: ReadonlyMap<string, ServiceErrorClass> = new Map(Object.entries(CLASS_BY_CODE))

/** An error of the class of the refusal's code. */
export function buildServiceError(refusal: Refusal): ServiceError {
  const Class = CLASSES.get(refusal.code) ?? ServiceError
  return new Class(refusal)
}

/** The members `error` and `code` of an error body; undefined for any other value. */
export function errorBodyOf(
  body: unknown,
): { readonly error: string; readonly code: string } | undefined {
  if (!isObject(body)) return undefined
  const { error, code } = body
  return typeof error === 'string' && typeof code === 'string' ? { error, code } : undefined
}

function conflictOf(body: unknown): Conflict | undefined {
  const conflict = isObject(body) ? body['conflict'] : undefined
  if (!isObject(conflict)) return undefined
  const { table, key, message } = conflict
  const isWhole = typeof table === 'string' && typeof key === 'string'
  return isWhole ? { table, key, message: String(message) } : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
