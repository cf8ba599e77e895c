// The one place where an error becomes a reply: its status, its body, and what of it may be seen.

import { InvariantError } from '../../lib/assert.ts'
import { ServiceError, isServiceError } from '../../lib/errors.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import { jsonReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'

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

const RETRY_AFTER_S = '1'

/** The body of every error of this API; `openapi/store.v1.yaml` calls it Error. */
export interface ErrorBody {
  readonly error: string
  readonly code: ErrorCode
}

/**
 * Turns whatever was thrown into what the client may know. The message of a ServiceError is written
 * for the client and passes; of anything else only a request id does, and the log gets the rest.
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
    const error = this.#translate(thrown)
    return { error: error.message, code: error.code }
  }

  replyOf(thrown: unknown): BytesReply {
    const body = this.bodyOf(thrown)
    return errorReply(body)
  }

  #translate(thrown: unknown): ServiceError {
    if (isServiceError(thrown)) return thrown
    const requestId = Math.floor(this.#random() * 2 ** 48).toString(16)
    this.#log.error('request failed unexpectedly', { requestId, error: describeThrown(thrown) })
    // After the reply has been handed to the socket, which happens in this same turn.
    if (thrown instanceof InvariantError) queueMicrotask(() => this.#onInvariantBroken(thrown))
    return new ServiceError('INTERNAL', `internal error; request id ${requestId}`)
  }
}

export function errorReply(body: ErrorBody, headers: readonly string[] = []): BytesReply {
  const retry = body.code === 'OVERLOADED' ? ['Retry-After', RETRY_AFTER_S] : []
  return jsonReply(statusByErrorCode[body.code], body, [...headers, ...retry])
}

function describeThrown(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
