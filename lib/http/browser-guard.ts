// What a page of somebody else's site must not do through the browser of whoever runs a node: the API
// asks nobody who they are, so a request that a foreign page made is refused before it is read.
//
// Two ways in: the page sends across origins (`Origin` gives it away), or its own name was made to
// point here (DNS rebinding; then `Host` is not a name of this machine).

import { ServiceError } from '../errors.ts'

const LOCAL_NAMES: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])
const PORT = /:\d+$/

/**
 * Takes the headers flat, name after value, as they came: every request passes here, and node builds
 * the object of `request.headers` only for those who ask.
 */
export type BrowserGuard = (rawHeaders: readonly string[]) => ServiceError | undefined

/** `loopbackOnly` says that no name but this machine's own can be right. */
export function buildBrowserGuard(options: { readonly loopbackOnly: boolean }): BrowserGuard {
  return (rawHeaders) => {
    const { origin, host } = originAndHost(rawHeaders)
    if (origin !== undefined && origin !== `http://${host}`) {
      const shown = origin.slice(0, SHOWN_ORIGIN_LENGTH_MAX)
      const message = `requests from pages of ${shown} are refused; use a client outside a browser`
      return new ServiceError('FORBIDDEN', message)
    }
    if (options.loopbackOnly && host !== '' && !LOCAL_NAMES.has(host.replace(PORT, ''))) {
      const message = 'this node serves its own machine: use 127.0.0.1 or localhost as the host'
      return new ServiceError('FORBIDDEN', message)
    }
    return undefined
  }
}

function originAndHost(rawHeaders: readonly string[]): {
  readonly origin: string | undefined
  readonly host: string
} {
  let origin: string | undefined
  let host = ''
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    // Lengths first: only these two names are worth lowering their letters.
    // Names of hosts have no case (RFC 9110, section 4.2.3).
    if (name.length === 4 && name.toLowerCase() === 'host') {
      host = (rawHeaders[i + 1] ?? '').toLowerCase()
    } else if (name.length === 6 && name.toLowerCase() === 'origin') {
      origin = rawHeaders[i + 1]?.toLowerCase()
    }
  }
  return { origin, host }
}

const SHOWN_ORIGIN_LENGTH_MAX = 100
