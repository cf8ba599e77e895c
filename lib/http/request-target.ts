// What a request asks for, in the one form that routes are matched in: RFC 9112, section 3.2.

import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'

const SCHEME_AND_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/**
 * Rewrites the target of a request to a path and a query. Clients send whole URLs where they think
 * they speak to a proxy; a fragment is not part of a target at all. Answers the refusal of a target
 * that is neither.
 */
export function normalizeTarget(request: Pick<IncomingMessage, 'url'>): ServiceError | undefined {
  const target = originForm(request.url ?? '')
  if (target === undefined) {
    const message = 'the request target is neither a path nor a URL; send a path, such as /healthz'
    return new ServiceError('INVALID_ARGUMENT', message)
  }
  request.url = target
  return undefined
}

function originForm(target: string): string | undefined {
  if (target.startsWith('/') || target === '*') return withoutFragment(target)
  if (URL.parse(target) === null) return undefined
  const [authority] = SCHEME_AND_AUTHORITY.exec(target) ?? []
  if (authority === undefined) return undefined
  // Cut out, not parsed: a parser takes the segment ".." away, which may be the key of a document.
  const rest = withoutFragment(target.slice(authority.length))
  return rest.startsWith('/') ? rest : `/${rest}`
}

function withoutFragment(target: string): string {
  const end = target.indexOf('#')
  return end < 0 ? target : target.slice(0, end)
}
