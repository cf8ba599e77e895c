// The bodies of errors: ours, and below `/v1/` those that OpenAI clients read.

import type { ErrorShape } from '../../door/replies.ts'
import { statusByErrorCode } from '../../lib/http/error-status.ts'
import type { ErrorBody } from '../../lib/http/error-translator.ts'

const OPENAI_PREFIX = '/v1/'

export const ERROR_SHAPE: ErrorShape = {
  // Long enough for a queue of short requests to drain.
  retryAfterS: 5,
  bodyFor: (path, body) => (path.startsWith(OPENAI_PREFIX) ? openaiBody(body) : body),
}

function openaiBody({ error: message, code }: ErrorBody): object {
  const type = statusByErrorCode[code] < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, param: null, code } }
}
