// A listening HTTP server: limits, answers to requests that are not HTTP, and an orderly end.

import { once } from 'node:events'
import type { Server, ServerOptions, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { assert } from '../assert.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'
import { prodWhenLate } from '../deadline.ts'
import type { PlainConnections } from './plain-connections.ts'
import { jsonReply, sendBytes } from './reply.ts'
import { nameRequest, type RequestIds } from './request-id.ts'

const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_TIMEOUT_MS = 60_000
const REQUEST_TIMEOUT_MS = 60_000
/** How late the two timeouts may be. */
const TIMEOUT_CHECK_PERIOD_MS = 5_000
const IDLE_SWEEP_PERIOD_MS = 10
export const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

/**
 * A server that listens. `url` has the port that it was given or that the system chose, and no
 * path.
 */
export interface RunningServer {
  readonly url: string
  /** Takes no new connections, lets running requests finish within the deadline, then cuts them. */
  close(): Promise<void>
}

export const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: TIMEOUT_CHECK_PERIOD_MS,
  keepAlive: true,
  noDelay: true,
  // A request without a body is over when it begins: the events of a stream that has nothing cost more than our own door.
  optimizeEmptyRequests: true,
}

/** Refuses a host that other machines can reach, unless the operator insists. */
export function checkHost(host: string, insecure: boolean): void {
  if (insecure || LOOPBACK.has(host)) return
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `host ${host} can be reached from other machines and the API has no authentication; ` +
      'bind to 127.0.0.1, or start with --insecure if the network is yours alone',
  )
}

/** Where a server listens, and how long its close may take. */
export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly clock: Clock
  readonly closeDeadlineMs: number
  /** Connections at once; one more is closed unanswered. Undefined: no bound. */
  readonly connectionsMax?: number | undefined
  /** Makes the ids of answers to bytes that never became a request. */
  readonly ids: RequestIds
  /** The connections that are not those of node:http. */
  readonly plain?: PlainConnections | undefined
}

export async function listen(server: Server, options: ListenOptions): Promise<RunningServer> {
  const { ids } = options
  server.on('clientError', (error, socket: Socket) => refuseMalformed(error, { socket, ids }))
  server.on('checkExpectation', ({ rawHeaders }, response) => {
    nameRequest(response, ids.of(rawHeaders))
    refuseExpectation(response)
  })
  server.on('connect', ({ rawHeaders }, socket) => {
    socket.end(textOf(NO_TUNNEL, ids.of(rawHeaders)))
  })
  // Their bytes are bounded; headers beyond a count would vanish without a word.
  server.maxHeadersCount = 0
  if (options.connectionsMax !== undefined) server.maxConnections = options.connectionsMax
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const address = server.address()
  assert(address !== null && typeof address === 'object', 'the server listens on TCP')
  return { url: urlOf(address), close: () => closeServer(server, options) }
}

function urlOf({ address, family, port }: AddressInfo): string {
  return family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`
}

async function closeServer(
  server: Server,
  { clock, closeDeadlineMs, plain }: ListenOptions,
): Promise<void> {
  if (!server.listening) return
  const closeIdle = (): void => {
    server.closeIdleConnections()
    plain?.closeIdle()
  }
  // A connection whose request has just ended would otherwise stay open, waiting for the next one.
  server.on('request', (_request, response) => {
    response.once('close', () => server.closeIdleConnections())
  })
  // The same for requests that are running now: watching each from its start would cost all of them.
  const stopSweeping = clock.every(IDLE_SWEEP_PERIOD_MS, async () => closeIdle())
  const closed = once(server, 'close')
  server.close()
  closeIdle()
  const onLate = (): void => {
    server.closeAllConnections()
    plain?.closeAll()
  }
  await prodWhenLate(closed, { clock, ms: closeDeadlineMs, onLate })
  await stopSweeping()
}

interface Refusal {
  readonly status: string
  readonly code: ErrorCode
  readonly error: string
}

const MALFORMED: Refusal = {
  status: '400 Bad Request',
  code: 'INVALID_ARGUMENT',
  error: 'the request is not well-formed HTTP',
}

const NO_TUNNEL: Refusal = {
  status: '405 Method Not Allowed',
  code: 'METHOD_NOT_ALLOWED',
  error: 'this server does not forward requests; send a path of its own API',
}

const REFUSAL_BY_PARSER_CODE: ReadonlyMap<string, Refusal> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    {
      status: '431 Request Header Fields Too Large',
      code: 'INVALID_ARGUMENT',
      error: `the request line and headers are larger than ${HEADER_BYTES_MAX} bytes; shorten them`,
    },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    {
      status: '408 Request Timeout',
      code: 'DEADLINE_EXCEEDED',
      error: `the request did not arrive within ${REQUEST_TIMEOUT_MS / 1000} s; send it faster`,
    },
  ],
])

/** What node:http could not parse never becomes a request, so the answer is written by hand. */
function refuseMalformed(
  error: NodeJS.ErrnoException,
  { socket, ids }: { readonly socket: Socket; readonly ids: RequestIds },
): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy() // gone, or in the middle of an answer that must not be written into
    return
  }
  socket.end(textOf(REFUSAL_BY_PARSER_CODE.get(error.code ?? '') ?? MALFORMED, ids.of([])))
}

function textOf({ status, code, error }: Refusal, requestId: string): string {
  const body = JSON.stringify({ error, code })
  return (
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n` +
    `X-Content-Type-Options: nosniff\r\nX-Request-Id: ${requestId}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
    `Connection: close\r\n\r\n${body}`
  )
}

function refuseExpectation(response: ServerResponse): void {
  const error = 'no expectation but 100-continue can be met; leave out the header Expect'
  sendBytes(response, jsonReply(417, { error, code: 'INVALID_ARGUMENT' }, ['Connection', 'close']))
}
