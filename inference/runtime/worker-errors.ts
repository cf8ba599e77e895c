import { ServiceError } from '../../lib/errors.ts'

/** The call was lost with its worker, through whosever fault. */
export class WorkerEndedError extends ServiceError {
  constructor(reason: string) {
    super('UNAVAILABLE', `the worker of this model ended (${reason}); try again`)
  }
}

/** The call did not end in its time, and may never. */
export class WorkerHangsError extends ServiceError {
  constructor(timeoutMs: number) {
    super('DEADLINE_EXCEEDED', `the model took longer than ${timeoutMs} ms`)
  }
}
