// What a client may know of what was thrown, and under which status. One table for all servers: a
// new code must be thought of here.

import { InvariantError } from '../assert.ts'
import { ServiceError, isServiceError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Random } from '../random.ts'

export const statusByErrorCode: Record<ErrorCode, number> = {
  INVALID_ARGUMENT: 400,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  ALREADY_EXISTS: 409,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_MISMATCH: 422,
  CANCELLED: 499,
  CORRUPTION: 500,
  INFERENCE_FAILED: 500,
  INTERNAL: 500,
  OVERLOADED: 503,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
  DISK_FULL: 507,
}

/** The body of every error of our own APIs; their contracts call it Error. */
export interface ErrorBody {
  readonly error: string
  readonly code: ErrorCode
}

/**
 * The message of a ServiceError is written for the client and passes; of anything else only a
 * request id does, and the log gets the rest.
 */
export class ErrorTranslator {
  readonly #log: Log
  readonly #random: Random
  readonly #onInvariantBroken: (error: InvariantError) => void

  constructor(log: Log, random: Random, onInvariantBroken: (error: InvariantError) => void) {
    this.#log = log
    this.#random = random
    this.#onInvariantBroken = onInvariantBroken
  }

  bodyOf(thrown: unknown): ErrorBody {
    const { message, code } = this.#translate(thrown)
    return { error: shortened(message), code }
  }

  #translate(thrown: unknown): ServiceError {
    if (isServiceError(thrown)) {
      // Nobody reads the answer, and nothing went wrong here.
      if (thrown.code === 'CANCELLED') this.#log.debug('request given up by its client')
      return thrown
    }
    const requestId = Math.floor(this.#random() * 2 ** 48).toString(16)
    this.#log.error('request failed unexpectedly', { requestId, error: describeThrown(thrown) })
    // After the reply has been handed to the socket, which happens in this same turn.
    if (thrown instanceof InvariantError) queueMicrotask(() => this.#onInvariantBroken(thrown))
    return new ServiceError('INTERNAL', `internal error; request id ${requestId}`)
  }
}

/** Messages quote what clients sent and models hold; nobody is helped by megabytes of it. */
const MESSAGE_LENGTH_MAX = 2_000

function shortened(message: string): string {
  if (message.length <= MESSAGE_LENGTH_MAX) return message
  return `${message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()}…`
}

function describeThrown(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
