// What a call may throw, besides the reason of an AbortSignal that its caller gave.
//
//   QuarryError
//   ├─ ConnectionError     no whole answer arrived: whether the request was carried out is unknown
//   └─ ServiceError        the server refused; one class below it for each code of the contract

import type { components } from './contract/store.v1.ts'

export type ErrorCode = components['schemas']['ErrorCode']

/** Everything that a server says with a refusal. */
export interface Refusal {
  /** For people: names what is at fault and says what to do about it. */
  readonly message: string
  readonly code: string
  /** Of the answer; 200 if a stream failed after its beginning. */
  readonly status: number
  /** Of the answer; empty if a stream failed after its beginning. */
  readonly headers: Headers
  /** The server's `Retry-After`; undefined if it sent none. */
  readonly retryAfterMs: number | undefined
  /** Parsed JSON, or the text if it is none. */
  readonly body: unknown
}

export class QuarryError extends Error {
  override readonly name: string = 'QuarryError'
}

/** The server could not be reached, or its answer broke off or came too late. See `cause`. */
export class ConnectionError extends QuarryError {
  override readonly name = 'ConnectionError'
}

/** Thrown as it is for codes that this version of the client does not know. */
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

export class InvalidArgumentError extends ServiceError {
  override readonly name = 'InvalidArgumentError'
}

export class ForbiddenError extends ServiceError {
  override readonly name = 'ForbiddenError'
}

export class NotFoundError extends ServiceError {
  override readonly name = 'NotFoundError'
}

export class MethodNotAllowedError extends ServiceError {
  override readonly name = 'MethodNotAllowedError'
}

export class AlreadyExistsError extends ServiceError {
  override readonly name = 'AlreadyExistsError'
}

/** Another transaction holds or changed a key: read again, then write again. */
export class ConflictError extends ServiceError {
  override readonly name = 'ConflictError'
  /** Of a commit that was aborted: the key whose version changed. */
  readonly conflict: Conflict | undefined

  constructor(refusal: Refusal) {
    super(refusal)
    this.conflict = conflictOf(refusal.body)
  }
}

export type Conflict = components['schemas']['CommitAborted']['conflict']

export class IdempotencyMismatchError extends ServiceError {
  override readonly name = 'IdempotencyMismatchError'
}

export class PayloadTooLargeError extends ServiceError {
  override readonly name = 'PayloadTooLargeError'
}

export class UnsupportedMediaTypeError extends ServiceError {
  override readonly name = 'UnsupportedMediaTypeError'
}

/** Nothing was changed. */
export class OverloadedError extends ServiceError {
  override readonly name = 'OverloadedError'
}

export class CancelledError extends ServiceError {
  override readonly name = 'CancelledError'
}

export class CorruptionError extends ServiceError {
  override readonly name = 'CorruptionError'
}

export class InferenceFailedError extends ServiceError {
  override readonly name = 'InferenceFailedError'
}

export class InternalError extends ServiceError {
  override readonly name = 'InternalError'
}

/** Nothing was changed: the leader of the shard was not found in time. */
export class NotLeaderError extends ServiceError {
  override readonly name = 'NotLeaderError'
}

/** Nothing was changed: the shard that owns the key was not found in time. */
export class RangeMovedError extends ServiceError {
  override readonly name = 'RangeMovedError'
}

/** The documents as they were at that time are not kept any more. */
export class HistoryGoneError extends ServiceError {
  override readonly name = 'HistoryGoneError'
}

/** Of a write, the outcome is unknown. */
export class UnavailableError extends ServiceError {
  override readonly name = 'UnavailableError'
}

export class DeadlineExceededError extends ServiceError {
  override readonly name = 'DeadlineExceededError'
}

export class DiskFullError extends ServiceError {
  override readonly name = 'DiskFullError'
}

type ServiceErrorClass = new (refusal: Refusal) => ServiceError

/** A new code of the contract does not compile until it has its class. */
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
  RANGE_MOVED: RangeMovedError,
  HISTORY_GONE: HistoryGoneError,
  UNAVAILABLE: UnavailableError,
  DEADLINE_EXCEEDED: DeadlineExceededError,
  DISK_FULL: DiskFullError,
}

const CLASSES: ReadonlyMap<string, ServiceErrorClass> = new Map(Object.entries(CLASS_BY_CODE))

export function buildServiceError(refusal: Refusal): ServiceError {
  const Class = CLASSES.get(refusal.code) ?? ServiceError
  return new Class(refusal)
}

/** The members `error` and `code` of the body of a refusal; undefined of any other value. */
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
