import { ServiceError } from '../../lib/errors.ts'

/** INVALID_ARGUMENT for a medium that cannot be read. The resolver puts its URL before the reason. */
export function refuseMedium(why: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', why, { cause })
}
