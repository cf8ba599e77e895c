import { diskErrorCode } from '../../../../lib/disk-error.ts'
import { ServiceError } from '../../../../lib/errors.ts'

/** What a library's failure at a file is: the disk's, or else ours. */
export function libraryError(error: unknown, what: string): ServiceError {
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error ? diskErrorCode(error) : undefined
  return new ServiceError(code ?? 'INTERNAL', `${what}: ${message}`, { cause: error })
}
