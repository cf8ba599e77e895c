// The store's replies to errors.

import { jsonReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'
import { statusByErrorCode } from '../../lib/http/error-translator.ts'
import type { ErrorBody } from '../../lib/http/error-translator.ts'

const RETRY_AFTER_S = '1'

export function errorReply(body: ErrorBody, headers: readonly string[] = []): BytesReply {
  const retry = body.code === 'OVERLOADED' ? ['Retry-After', RETRY_AFTER_S] : []
  return jsonReply(statusByErrorCode[body.code], body, [...headers, ...retry])
}
