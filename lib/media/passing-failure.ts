import { ServiceError } from '../errors.ts'

/** A download that failed for a reason that may pass: no answer in time, a broken connection, an overloaded host. */
export class PassingFailure extends ServiceError {
  constructor(message: string, cause?: unknown) {
    super('INVALID_ARGUMENT', message, { cause })
  }
}
