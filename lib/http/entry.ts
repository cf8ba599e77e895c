// What every server does with a request before its own doors see it.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { BrowserGuard } from './browser-guard.ts'
import { nameRequest, type RequestIds } from './request-id.ts'
import { inOrder, type Serve } from './request-order.ts'
import { normalizeTarget } from './request-target.ts'

export interface EntryOptions {
  readonly ids: RequestIds
  readonly guard: BrowserGuard
  readonly refuse: (response: ServerResponse, refusal: ServiceError) => void
  readonly serve: Serve
}

/** Serves the requests of a connection in order, and none that the guard refuses. */
export function buildEntry({ ids, guard, refuse, serve }: EntryOptions): Serve {
  return inOrder((request, response) => {
    nameRequest(response, ids.of(request.rawHeaders))
    const refusal =
      refusalOfVersion(request) ?? normalizeTarget(request) ?? guard(request.rawHeaders)
    if (refusal === undefined) serve(request, response)
    else refuse(response, refusal)
  })
}

/** Before HTTP/1.0 a request has no headers, and its client could not read a status. */
function refusalOfVersion({ httpVersionMajor }: IncomingMessage): ServiceError | undefined {
  if (httpVersionMajor > 0) return undefined
  return new ServiceError('INVALID_ARGUMENT', 'HTTP/0.9 is not spoken here; send HTTP/1.1')
}
