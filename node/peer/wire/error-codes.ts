import type { ErrorCode } from '../../../lib/errors.ts'

// A record, so that a new code does not compile until it is listed.
const KNOWN: Readonly<Record<ErrorCode, true>> = {
  INVALID_ARGUMENT: true,
  FORBIDDEN: true,
  NOT_FOUND: true,
  METHOD_NOT_ALLOWED: true,
  ALREADY_EXISTS: true,
  CONFLICT: true,
  IDEMPOTENCY_MISMATCH: true,
  PAYLOAD_TOO_LARGE: true,
  UNSUPPORTED_MEDIA_TYPE: true,
  OVERLOADED: true,
  CANCELLED: true,
  CORRUPTION: true,
  INFERENCE_FAILED: true,
  INTERNAL: true,
  UNAVAILABLE: true,
  DEADLINE_EXCEEDED: true,
  DISK_FULL: true,
  NOT_LEADER: true,
  TOO_FEW_IN_SYNC: true,
  RANGE_MOVED: true,
  HISTORY_GONE: true,
}

/** Whether the text is a code that this version knows. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(KNOWN, text)
}
