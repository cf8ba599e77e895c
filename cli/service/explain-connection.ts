// Explains a failed connection in one sentence with a remedy. The codes are those of the operating
// system, of OpenSSL and of Node's HTTP client.

import { ownCommand } from '../../lib/own-command.ts'

interface ConnectionFailure {
  readonly codes: readonly (string | RegExp)[]
  /** `look` is the command that shows how the service is. */
  readonly explain: (url: URL, look: string) => string
}

const FAILURES: readonly ConnectionFailure[] = [
  {
    codes: ['ECONNREFUSED'],
    explain: (url) => `no server listens there; ${startThere(url)}`,
  },
  {
    codes: ['ENOTFOUND'],
    explain: ({ hostname }) => `the host ${hostname} does not exist; check --url or QUARRY_URL`,
  },
  {
    codes: ['EAI_AGAIN'],
    explain: ({ hostname }) => `the name ${hostname} cannot be resolved now; check the network`,
  },
  {
    codes: ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'],
    explain: () => 'the connection timed out; check the address and the firewall',
  },
  {
    codes: ['EHOSTUNREACH', 'ENETUNREACH'],
    explain: ({ hostname }) => `the network has no route to ${hostname}; check the network`,
  },
  {
    codes: ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'],
    explain: (_, look) => `the connection was closed; check whether the service runs: ${look}`,
  },
  {
    codes: ['ERR_TLS_CERT_ALTNAME_INVALID'],
    explain: ({ hostname }) => `its certificate is not for the name ${hostname}`,
  },
  {
    codes: [/CERT/, /SELF_SIGNED/, /^UNABLE_TO_/],
    explain: () =>
      'its certificate is not trusted; give the certificate of its authority in NODE_EXTRA_CA_CERTS',
  },
  {
    codes: ['EPROTO', /^ERR_SSL_/],
    explain: () => 'it does not speak TLS; try an http:// address',
  },
  {
    codes: [/^HPE_/],
    explain: ({ protocol }) =>
      protocol === 'http:'
        ? 'it does not speak HTTP; try an https:// address or another port'
        : 'it does not speak HTTP; try another port',
  },
]

/** The explanation of an error that the HTTP client threw. */
export function explainConnection(error: unknown, url: URL, look: string): string {
  const cause = rootOf(error)
  const code = codeOf(cause)
  const found = FAILURES.find(({ codes }) =>
    codes.some((each) => (typeof each === 'string' ? each === code : each.test(code))),
  )
  if (found !== undefined) return `${found.explain(url, look)} (${code})`
  return cause instanceof Error ? cause.message : String(cause)
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/
/** The port of a store with default settings. */
const USUAL_PORT = '8080'

/** What starts a store at the address, if that is this machine. */
function startThere({ hostname, port, protocol }: URL): string {
  if (!LOOPBACK.test(hostname)) return 'start one on that machine, or check --url or QUARRY_URL'
  const asked = port === '' && protocol === 'http:' ? '80' : port
  const flags = asked === USUAL_PORT || asked === '' ? '' : ` --api-port ${asked}`
  return `start one with: ${ownCommand(`swarm --data-dir ./data${flags}`)}`
}

/** The system's error below the client's errors. If several addresses failed, the last one's. */
function rootOf(error: unknown): unknown {
  let root = error
  for (;;) {
    if (root instanceof AggregateError && root.errors.length > 0) root = root.errors.at(-1)
    else if (root instanceof Error && root.cause instanceof Error) root = root.cause
    else return root
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
}
