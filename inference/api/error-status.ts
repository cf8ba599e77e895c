// The one place where an error becomes a reply: its status, its body, and what of it may be seen.

import { InvariantError } from '../../lib/assert.ts'
import { ServiceError, isServiceError } from '../../lib/errors.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import { jsonReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'

/** Codes that only the store knows have a status all the same: a new code must be thought of here. */
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

/** Long enough for a queue of short requests to drain. */
const RETRY_AFTER_S = '5'

export interface ErrorBody {
  readonly error: string
  readonly code: ErrorCode
}

/** What OpenAI clients read. */
export interface OpenaiErrorBody {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: null
    readonly code: ErrorCode
  }
}

/** Below this path, errors have the form that OpenAI clients read. */
const OPENAI_PREFIX = '/v1/'

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

  bodyOf(thrown: unknown, path: string): ErrorBody | OpenaiErrorBody {
    const { message, code } = this.#translate(thrown)
    return bodyFor(path, { error: message, code })
  }

  replyOf(thrown: unknown, path: string): BytesReply {
    const { message, code } = this.#translate(thrown)
    return errorReply(path, { error: message, code })
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

export function errorReply(
  path: string,
  body: ErrorBody,
  headers: readonly string[] = [],
): BytesReply {
  const retry = body.code === 'OVERLOADED' ? ['Retry-After', RETRY_AFTER_S] : []
  return jsonReply(statusByErrorCode[body.code], bodyFor(path, body), [...headers, ...retry])
}

function bodyFor(path: string, body: ErrorBody): ErrorBody | OpenaiErrorBody {
  if (!path.startsWith(OPENAI_PREFIX)) return body
  const { error: message, code } = body
  const type = statusByErrorCode[code] < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, param: null, code } }
}

function describeThrown(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
