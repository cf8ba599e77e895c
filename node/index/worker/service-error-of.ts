import { diskErrorCode } from '../../../lib/disk-error.ts'
import { ServiceError } from '../../../lib/errors.ts'

/** What a worker answers for a failure: a ServiceError as it is, an error of the disk by its code, others as INTERNAL. */
export function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (!(error instanceof Error)) return new ServiceError('INTERNAL', String(error))
  const code = diskErrorCode(error) ?? 'INTERNAL'
  return new ServiceError(code, error.message, { cause: error })
}
