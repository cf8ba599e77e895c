// The inference server's replies to errors: ours, and below `/v1/` those that OpenAI clients read.

import type { ErrorCode } from '../../lib/errors.ts'
import { jsonReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'
import { statusByErrorCode } from '../../lib/http/error-translator.ts'
import type { ErrorBody } from '../../lib/http/error-translator.ts'

/** Long enough for a queue of short requests to drain. */
const RETRY_AFTER_S = '5'
const OPENAI_PREFIX = '/v1/'

/** What OpenAI clients read. */
export interface OpenaiErrorBody {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: null
    readonly code: ErrorCode
  }
}

export function errorReply(
  path: string,
  body: ErrorBody,
  headers: readonly string[] = [],
): BytesReply {
  const retry = body.code === 'OVERLOADED' ? ['Retry-After', RETRY_AFTER_S] : []
  return jsonReply(statusByErrorCode[body.code], errorBodyFor(path, body), [...headers, ...retry])
}

export function errorBodyFor(path: string, body: ErrorBody): ErrorBody | OpenaiErrorBody {
  if (!path.startsWith(OPENAI_PREFIX)) return body
  const { error: message, code } = body
  const type = statusByErrorCode[code] < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, param: null, code } }
}
