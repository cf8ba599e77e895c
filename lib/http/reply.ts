// What a handler answers, before anybody knows which door the request came through.

import { STATUS_CODES, type ServerResponse } from 'node:http'
import { extraHeadersOf, requestIdOf } from './request-id.ts'

/** A whole answer. Headers are flat, name after value, the form `writeHead` takes without a copy. */
export interface BytesReply {
  readonly kind: 'bytes'
  readonly status: number
  readonly headers: readonly string[]
  readonly body: Buffer
}

const EMPTY = Buffer.alloc(0)
/**
 * A short body goes as a string, which node sends in one piece with the head: Latin-1 maps bytes to
 * characters one to one. Longer ones are cheaper without the copy.
 */
const STRING_BYTES_MAX = 16_384
/** Browsers must not guess that a stored document is a page or a script. */
const NOSNIFF = ['X-Content-Type-Options', 'nosniff'] as const
const NOSNIFF_LINE = `${NOSNIFF.join(': ')}\r\n`

export function jsonReply(
  status: number,
  value: unknown,
  headers: readonly string[] = [],
): BytesReply {
  return jsonBytesReply(status, Buffer.from(JSON.stringify(value)), headers)
}

/** `json` is sent as it is: the fast way for stored documents, and the exact one for big integers. */
export function jsonBytesReply(
  status: number,
  json: Buffer,
  headers: readonly string[] = [],
): BytesReply {
  return bytesReply(status, json, ['Content-Type', 'application/json', ...headers])
}

export function bytesReply(status: number, body: Buffer, headers: readonly string[]): BytesReply {
  return { kind: 'bytes', status, headers, body }
}

export function textReply(status: number, text: string): BytesReply {
  return bytesReply(status, Buffer.from(text), ['Content-Type', 'text/plain; charset=utf-8'])
}

export function emptyReply(status: number, headers: readonly string[] = []): BytesReply {
  return bytesReply(status, EMPTY, headers)
}

/** Sends a whole answer. Does nothing when the client has gone, or an answer is already on its way. */
export function sendBytes(response: ServerResponse, reply: BytesReply): void {
  if (!sendHead(response, reply)) return
  const { body } = reply
  if (body.length > STRING_BYTES_MAX) response.end(body)
  else response.end(body.toString('latin1'), 'latin1')
}

/** What every answer carries: to be given to `writeHead` with its own. */
export function headersOfAll(response: ServerResponse): readonly string[] {
  const requestId = requestIdOf(response)
  if (requestId === undefined) return NOSNIFF
  return [...NOSNIFF, 'X-Request-Id', requestId, ...extraHeadersOf(response)]
}

/**
 * The status line and all headers of a whole answer but those of its connection, as node:http writes them, for a request
 * with this id and of no other origin.
 */
export function headTextOf({ status, headers, body }: BytesReply, requestId: string): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  head += `${NOSNIFF_LINE}X-Request-Id: ${requestId}\r\n`
  return status === 204 ? head : `${head}Content-Length: ${body.length}\r\n`
}

/** Answers whether the body is to follow: not when the client has gone, or has its answer already. */
function sendHead(response: ServerResponse, reply: BytesReply): boolean {
  if (response.destroyed || response.headersSent) return false
  const headers = [...reply.headers, ...headersOfAll(response)]
  if (reply.status !== 204) headers.push('Content-Length', String(reply.body.length))
  response.writeHead(reply.status, headers)
  return true
}
