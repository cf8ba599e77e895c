import { ServiceError } from '../../lib/errors.ts'

/**
 * The worker ended before it answered the call. The call itself may have caused that, or another
 * one.
 */
export class WorkerEndedError extends ServiceError {
  constructor(reason: string) {
    super('UNAVAILABLE', `the worker of this model ended (${reason}); try again`)
  }
}

/** The call did not end in time. Its worker may still be running it. */
export class WorkerHangsError extends ServiceError {
  constructor(timeoutMs: number) {
    super('DEADLINE_EXCEEDED', `the model took longer than ${timeoutMs} ms`)
  }
}
