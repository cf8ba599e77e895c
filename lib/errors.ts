/**
 * The code of an expected error. `code` is the contract; `message` is for people and may change at
 * any time.
 */
export type ErrorCode =
  | 'INVALID_ARGUMENT'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'ALREADY_EXISTS'
  | 'CONFLICT'
  | 'IDEMPOTENCY_MISMATCH'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'OVERLOADED'
  | 'CANCELLED'
  | 'CORRUPTION'
  | 'INFERENCE_FAILED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED'
  | 'DISK_FULL'
  /** Another replica leads the shard. Nothing happened, and the caller may ask the leader. */
  | 'NOT_LEADER'
  /** Too few replicas of a shard are in sync to write safely. Nothing happened, and reads are served. */
  | 'TOO_FEW_IN_SYNC'
  /** Another shard owns the keys. Nothing happened, and the caller may ask that shard. */
  | 'RANGE_MOVED'
  /** What a reader asks for is older than the history that is kept. */
  | 'HISTORY_GONE'

/** An expected error, such as a refusal or a failing disk. The API maps its `code` to a status. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof ServiceError
}

/** The message of a thrown value. Code may throw values that are not errors. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
