import { isServiceError, type ServiceError } from '../../lib/errors.ts'

/** The codes by which a shard says that nothing happened, by the contract of Shard. */
const CODES: ReadonlySet<ServiceError['code']> = new Set([
  'INVALID_ARGUMENT',
  'DISK_FULL',
  'OVERLOADED',
  'NOT_LEADER',
  'TOO_FEW_IN_SYNC',
  'RANGE_MOVED',
])

/** Whether the shard did nothing. After every other error of a write its outcome is unknown. */
export function isRefused(error: unknown): error is ServiceError {
  return isServiceError(error) && CODES.has(error.code)
}
