// Explains a failed connection in one sentence with a remedy. The codes are those of the operating
// system, of OpenSSL and of Node's HTTP client.

interface Trouble {
  readonly codes: readonly (string | RegExp)[]
  readonly explain: (url: URL) => string
}

const TROUBLES: readonly Trouble[] = [
  {
    codes: ['ECONNREFUSED'],
    explain: () => 'no server listens there; start one with: quarry swarm --data-dir ./data',
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
    explain: () => 'the connection was closed; check whether the service runs: quarry status',
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
export function explainConnection(error: unknown, url: URL): string {
  const cause = rootOf(error)
  const code = codeOf(cause)
  const found = TROUBLES.find(({ codes }) =>
    codes.some((each) => (typeof each === 'string' ? each === code : each.test(code))),
  )
  if (found !== undefined) return `${found.explain(url)} (${code})`
  return cause instanceof Error ? cause.message : String(cause)
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
