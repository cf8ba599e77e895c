import type { ErrorCode } from '../errors.ts'

/** The HTTP status of each error code, for all servers. A new code does not compile without a row. */
export const statusByErrorCode: Record<ErrorCode, number> = {
  INVALID_ARGUMENT: 400,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  ALREADY_EXISTS: 409,
  CONFLICT: 409,
  HISTORY_GONE: 410,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_MISMATCH: 422,
  CANCELLED: 499,
  CORRUPTION: 500,
  INFERENCE_FAILED: 500,
  INTERNAL: 500,
  OVERLOADED: 503,
  NOT_LEADER: 503,
  TOO_FEW_IN_SYNC: 503,
  RANGE_MOVED: 503,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
  DISK_FULL: 507,
}
