// Which pages may use this server through the browsers of people who can reach it. The API asks nobody
// who they are, so what a foreign page made a browser send is refused before it is read.
//
// Invariants (docs/decisions/0043-one-door-and-who-may-pass.md has the reasons):
//   O1  A page of another origin is refused, unless `corsOrigins` names that origin exactly or has `*`.
//   O2  A page of our own origin is one whose `Origin` is a public URL, or names the host and port that
//       `Host` names, whatever the scheme: a proxy may have taken the TLS away. `Host` alone proves
//       nothing where a foreign name could have been made to point here (DNS rebinding), so it has to
//       be a name that nobody else can own: see `isOurs`.
//   O3  A server on loopback, and one with public URLs, refuses every other `Host`. A GET of a rebound
//       page carries no `Origin`, and is refused by this rule.
//   O4  A request names one host: a second `Host`, or a whole URL of another host, is refused.
//   O5  No answer allows credentials, and no forwarded header is believed.

import { isIP } from 'node:net'
import { ServiceError } from '../lib/errors.ts'
import type { ErrorCode } from '../lib/errors.ts'
import {
  HOST_REFUSALS,
  LOCAL_NAMES,
  nameOfHost,
  namesAnotherHost,
} from '../lib/http/request-host.ts'

/** What the operator said about hosts and pages. */
export interface OriginOptions {
  /** Only the machine's own names and those of public URLs are accepted. */
  readonly loopbackOnly: boolean
  /** Origins such as `http://localhost:3000`, or `*` for all. */
  readonly corsOrigins: readonly string[]
  /** The URLs by which browsers reach the server where a proxy stands before it, or by a name. */
  readonly publicUrls: readonly string[]
}

/** What is to be done with a request. */
export interface OriginVerdict {
  readonly refusal: ServiceError | undefined
  /** For every answer to the request, flat. */
  readonly headers: readonly string[]
  /** The page of another origin that may send the request; undefined: there is no such page. */
  readonly crossOrigin: string | undefined
}

/**
 * Takes the headers flat, name after value, as they came: every request passes here, and node builds
 * the object of `request.headers` only for those who ask.
 */
export type OriginPolicy = (rawHeaders: readonly string[], target: string) => OriginVerdict

/** What pages may read beside the headers that all may. */
const EXPOSED = 'X-Service-Version, X-Request-Id, X-Truncated, Retry-After'

export function buildOriginPolicy(options: OriginOptions): OriginPolicy {
  const rules = rulesOf(options)
  const vary = rules.allowed.size > 0 && !rules.allowsAll ? ['Vary', 'Origin'] : []
  const plain: OriginVerdict = { refusal: undefined, headers: vary, crossOrigin: undefined }
  const refuse = (message: string, code: ErrorCode = 'FORBIDDEN'): OriginVerdict => ({
    ...plain,
    refusal: new ServiceError(code, message),
  })
  return (rawHeaders, target) => {
    const { origin, host, hosts } = originAndHost(rawHeaders)
    const problem = hostsProblem(target, { host, hosts })
    if (problem !== undefined) return refuse(problem, 'INVALID_ARGUMENT')
    const name = nameOfHost(host)
    if (rules.checksHosts && host !== '' && !isOurs(name, rules)) return refuse(hostRefusal(rules))
    if (origin === undefined || rules.publicOrigins.has(origin)) return plain
    if (isSameHost(origin, host)) return isOurs(name, rules) ? plain : refuse(nameRefusal(origin))
    if (!rules.allowsAll && !rules.allowed.has(origin)) return refuse(originRefusal(origin))
    const allowed = rules.allowsAll ? '*' : origin
    const headers = ['Access-Control-Allow-Origin', allowed, ...vary]
    headers.push('Access-Control-Expose-Headers', EXPOSED)
    return { refusal: undefined, headers, crossOrigin: origin }
  }
}

/** More than one host in one request (O4). */
function hostsProblem(
  target: string,
  { host, hosts }: { readonly host: string; readonly hosts: number },
): string | undefined {
  if (hosts > 1) return HOST_REFUSALS.several
  return namesAnotherHost(target, host) ? HOST_REFUSALS.another : undefined
}

interface Rules {
  readonly loopbackOnly: boolean
  readonly checksHosts: boolean
  readonly allowed: ReadonlySet<string>
  readonly allowsAll: boolean
  readonly publicOrigins: ReadonlySet<string>
  readonly publicNames: ReadonlySet<string>
}

function rulesOf({ loopbackOnly, corsOrigins, publicUrls }: OriginOptions): Rules {
  const urls = publicUrls.map((url) => new URL(url))
  return {
    loopbackOnly,
    checksHosts: loopbackOnly || urls.length > 0,
    allowed: new Set(corsOrigins.map((origin) => origin.toLowerCase())),
    allowsAll: corsOrigins.includes('*'),
    publicOrigins: new Set(urls.map(({ origin }) => origin)),
    publicNames: new Set(urls.map(({ hostname }) => hostname)),
  }
}

/** Suffixes that nobody can register in the public DNS: RFC 6761, RFC 6762, RFC 8375, ICANN 2024. */
const PRIVATE_SUFFIX = /\.(?:localhost|local|internal|home\.arpa)$/

/**
 * Whether nobody else can have made this name point here. On loopback that holds for this machine's own
 * names only. Elsewhere it also holds for an address, which the browser has from the address bar, and
 * for a name that the public DNS cannot hold: one without a dot, or below a suffix for private networks.
 */
function isOurs(name: string, { loopbackOnly, publicNames }: Rules): boolean {
  if (LOCAL_NAMES.has(name) || publicNames.has(name)) return true
  if (loopbackOnly) return false
  return (
    isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0 || !name.includes('.') || PRIVATE_SUFFIX.test(name)
  )
}

/** Compares host and port. An absent port is the default port of the origin's scheme. */
function isSameHost(origin: string, host: string): boolean {
  const [, scheme, authority = ''] = /^(https?):\/\/([^/]+)$/.exec(origin) ?? []
  if (scheme === undefined) return false
  const port = scheme === 'https' ? ':443' : ':80'
  const bare = (text: string): string => (text.endsWith(port) ? text.slice(0, -port.length) : text)
  return bare(authority) === bare(host)
}

const SHOWN_LENGTH_MAX = 100

function originRefusal(origin: string): string {
  const shown = origin.slice(0, SHOWN_LENGTH_MAX)
  return (
    `requests from pages of ${shown} are refused; start the server with --cors-origins ${shown} ` +
    'to allow them, or use a client outside a browser'
  )
}

function nameRefusal(origin: string): string {
  const shown = origin.slice(0, SHOWN_LENGTH_MAX)
  return `pages of ${shown} are refused until the server knows the name: start it with --public-urls ${shown}`
}

function hostRefusal({ loopbackOnly }: Rules): string {
  return loopbackOnly
    ? 'this node serves its own machine: use 127.0.0.1 or localhost as the host, ' +
        'or start it with --public-urls and the URL that a proxy before it serves'
    : 'this server does not know the host that the request names: use its address or one of its --public-urls'
}

function originAndHost(rawHeaders: readonly string[]): {
  readonly origin: string | undefined
  readonly host: string
  readonly hosts: number
} {
  let origin: string | undefined
  let host = ''
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    // Lengths first: only these two names are worth lowering their letters.
    // Names of hosts have no case (RFC 9110, section 4.2.3).
    if (name.length === 4 && name.toLowerCase() === 'host') {
      host = (rawHeaders[i + 1] ?? '').toLowerCase()
      hosts += 1
    } else if (name.length === 6 && name.toLowerCase() === 'origin') {
      origin = rawHeaders[i + 1]?.toLowerCase()
    }
  }
  return { origin, host, hosts }
}
