// Why nobody answered, in a sentence with its remedy. The codes are those of the operating system, of
// OpenSSL and of Node's HTTP client.

interface Trouble {
  readonly codes: readonly (string | RegExp)[]
  readonly explain: (url: URL) => string
}

const TROUBLES: readonly Trouble[] = [
  {
    codes: ['ECONNREFUSED'],
    explain: () =>
      'nobody listens there; is quarry swarm running? (quarry swarm --data-dir ./data)',
  },
  {
    codes: ['ENOTFOUND'],
    explain: ({ hostname }) => `no host is called ${hostname}; check --url or QUARRY_URL`,
  },
  {
    codes: ['EAI_AGAIN'],
    explain: ({ hostname }) => `the name ${hostname} cannot be looked up now; check the network`,
  },
  {
    codes: ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'],
    explain: () => 'the connection was not answered; check the address and the firewall',
  },
  {
    codes: ['EHOSTUNREACH', 'ENETUNREACH'],
    explain: ({ hostname }) => `there is no way to ${hostname}; check the network`,
  },
  {
    codes: ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'],
    explain: () => 'the connection broke off; did the service stop? (quarry status)',
  },
  {
    codes: ['ERR_TLS_CERT_ALTNAME_INVALID'],
    explain: ({ hostname }) => `its certificate is for another name than ${hostname}`,
  },
  {
    codes: [/CERT/, /SELF_SIGNED/, /^UNABLE_TO_/],
    explain: () =>
      'its certificate is not trusted; name the authority that signed it with NODE_EXTRA_CA_CERTS',
  },
  {
    codes: ['EPROTO', /^ERR_SSL_/],
    explain: () => 'it does not speak TLS; is it an http:// address?',
  },
  {
    codes: [/^HPE_/],
    explain: ({ protocol }) =>
      protocol === 'http:'
        ? 'it does not speak HTTP; is it an https:// address, or another port?'
        : 'it does not speak HTTP; is it another port?',
  },
]

/** `error` is what the HTTP client threw. */
export function explainConnection(error: unknown, url: URL): string {
  const cause = rootOf(error)
  const code = codeOf(cause)
  const found = TROUBLES.find(({ codes }) =>
    codes.some((each) => (typeof each === 'string' ? each === code : each.test(code))),
  )
  if (found !== undefined) return `${found.explain(url)} (${code})`
  return cause instanceof Error ? cause.message : String(cause)
}

/** The error of the system below those of the client. Of several addresses that were tried, the last. */
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
