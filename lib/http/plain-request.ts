// The requests that most clients send, read without node:http: one chunk of bytes that is exactly one request.
//
// node:http makes two streams, an answer object and some dozen events for each request, which cost as much as a whole
// lookup. This reader knows a small part of RFC 9112 and declines everything else, and node:http reads what it declines.
//
// Invariants:
//   PR1  Only bytes with one meaning are accepted: no line folding, no bare CR or LF, no byte beyond printable ASCII,
//        no space before a colon, no header twice, and none that this file does not name.
//   PR2  The length of a body is what one Content-Length says, and the chunk ends where the body does. A message with
//        a Transfer-Encoding is declined, so nobody behind a proxy can hide a second request in the first.

/** A request with all of its body. */
export interface PlainRequest {
  readonly method: 'GET' | 'POST'
  /** A path, perhaps with a query. */
  readonly target: string
  /** Flat, name after value, as they came. */
  readonly rawHeaders: readonly string[]
  /** A slice of the chunk; empty for a GET. */
  readonly body: Buffer
}

const HEAD_END = '\r\n\r\n'
/** As node:http allows, so that its refusal of longer ones is the only one. */
const HEAD_BYTES_MAX = 16 * 1024
const REQUEST_LINE = /^(GET|POST) (\/[!-~]*) HTTP\/1\.1$/
const HEADER = /^([A-Za-z-]+): ?([!-~](?:[\t -~]*[!-~])?)$/
const LENGTH = /^(?:0|[1-9]\d{0,7})$/

/** What a header may say. Others than these are declined by their names. */
const VALUES = new Map<string, RegExp>([
  ['host', /./],
  ['content-length', LENGTH],
  ['content-type', /^application\/json$/],
  ['connection', /^keep-alive$/i],
  ['x-request-id', /./],
  // Nothing in an answer depends on the rest.
  ['accept', /./],
  ['accept-encoding', /./],
  ['accept-language', /./],
  ['cache-control', /./],
  ['pragma', /./],
  ['sec-fetch-mode', /./],
  ['traceparent', /./],
  ['tracestate', /./],
  ['user-agent', /./],
])

/** Undefined for all that node:http is to read. */
export function parsePlainRequest(chunk: Buffer): PlainRequest | undefined {
  const headEnd = chunk.indexOf(HEAD_END, 0, 'latin1')
  if (headEnd === -1 || headEnd > HEAD_BYTES_MAX) return undefined
  const [line = '', ...lines] = chunk.toString('latin1', 0, headEnd).split('\r\n')
  const [, method, target = ''] = REQUEST_LINE.exec(line) ?? []
  const headers = parseHeaders(lines)
  if (headers === undefined) return undefined
  const body = chunk.subarray(headEnd + HEAD_END.length)
  const { rawHeaders, length } = headers
  if (method === 'GET' && length === undefined && body.length === 0) {
    return { method, target, rawHeaders, body }
  }
  if (method === 'POST' && length === body.length) return { method, target, rawHeaders, body }
  return undefined
}

interface PlainHeaders {
  readonly rawHeaders: readonly string[]
  /** Undefined without a Content-Length. */
  readonly length: number | undefined
}

function parseHeaders(lines: readonly string[]): PlainHeaders | undefined {
  const rawHeaders: string[] = []
  const seen: string[] = []
  let length: number | undefined
  for (const line of lines) {
    const [, name = '', value = ''] = HEADER.exec(line) ?? []
    const known = name.toLowerCase()
    if (VALUES.get(known)?.test(value) !== true || seen.includes(known)) return undefined
    if (known === 'content-length') length = Number(value)
    seen.push(known)
    rawHeaders.push(name, value)
  }
  return seen.includes('host') ? { rawHeaders, length } : undefined
}
