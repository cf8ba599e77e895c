// What the server does with a request before it looks for its operation.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../lib/errors.ts'
import { emptyReply, sendBytes } from '../lib/http/reply.ts'
import { nameRequest, type RequestIds } from '../lib/http/request-id.ts'
import { inOrder, type Serve } from '../lib/http/request-order.ts'
import { normalizeTarget } from '../lib/http/request-target.ts'
import type { OriginPolicy } from './origins.ts'

/** `refuse` answers what is not let in, and `serve` everything else; each is called once or never. */
export interface EntryOptions {
  readonly ids: RequestIds
  readonly origins: OriginPolicy
  readonly refuse: (response: ServerResponse, refusal: ServiceError) => void
  readonly serve: Serve
}

/** Serves the requests of a connection in order, and none that the origin policy refuses. */
export function buildEntry({ ids, origins, refuse, serve }: EntryOptions): Serve {
  return inOrder((request, response) => {
    const { rawHeaders } = request
    const { headers, crossOrigin, refusal: ofOrigin } = origins(rawHeaders, request.url ?? '')
    nameRequest(response, ids.of(rawHeaders), headers)
    const refusal = refusalOfVersion(request) ?? normalizeTarget(request) ?? ofOrigin
    if (refusal !== undefined) refuse(response, refusal)
    else if (crossOrigin !== undefined && isPreflight(request)) answerPreflight(request, response)
    else serve(request, response)
  })
}

/** Before HTTP/1.0 a request has no headers, and its client could not read a status. */
function refusalOfVersion({ httpVersionMajor }: IncomingMessage): ServiceError | undefined {
  if (httpVersionMajor > 0) return undefined
  return new ServiceError('INVALID_ARGUMENT', 'HTTP/0.9 is not spoken here; send HTTP/1.1')
}

/** A browser's question whether a page may send what it wants to send (Fetch standard, section 4.8). */
function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

const PREFLIGHT_SECONDS = '600'
const HEADER_NAMES = /^[\w !#$%&'*+.^`|~,-]{1,1000}$/

/** Every header is allowed: none of them carries a right that the page does not have without it. */
function answerPreflight({ headers }: IncomingMessage, response: ServerResponse): void {
  const asked = headers['access-control-request-headers'] ?? ''
  const allowed = HEADER_NAMES.test(asked) ? ['Access-Control-Allow-Headers', asked] : []
  const methods = ['Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, DELETE']
  const vary = ['Vary', 'Access-Control-Request-Headers']
  const age = ['Access-Control-Max-Age', PREFLIGHT_SECONDS]
  sendBytes(response, emptyReply(204, [...methods, ...allowed, ...vary, ...age]))
}
