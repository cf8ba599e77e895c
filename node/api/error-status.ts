// The store's replies to errors.

import { jsonReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'
import { statusByErrorCode } from '../../lib/http/error-translator.ts'
import type { ErrorBody } from '../../lib/http/error-translator.ts'

const RETRY_AFTER_S = '1'
/** What passes by itself: memory is given back, a shard starts, an index is built. */
const PASSES = 503

export function errorReply(body: ErrorBody, headers: readonly string[] = []): BytesReply {
  const status = statusByErrorCode[body.code]
  const retry = status === PASSES ? ['Retry-After', RETRY_AFTER_S] : []
  return jsonReply(status, body, [...headers, ...retry])
}
