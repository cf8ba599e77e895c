// Reads a request body as bytes, once, within bounds, for every door.
//
// What is received is charged to the request's holding, so that all bodies together stay within the
// server's budget; long bodies are checked and put together in slices.

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'
import { systemClock } from '../clock.ts'
import { ServiceError } from '../errors.ts'
import { runSliced, type Sliced } from '../sliced.ts'
import { joinBody, receive, tooLarge } from './body-arrival.ts'
import { ByteCollector } from './byte-collector.ts'
import type { HeldMemory } from './request-memory.ts'

/** The limit of the received body, and also of the decompressed body. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024
/** What is handled at once: no more than a fraction of a millisecond for any reader of bytes. */
export const AT_ONCE_BYTES_MAX = 64 * 1024

const LINE_TYPES: ReadonlySet<string> = new Set(['application/x-ndjson', 'application/ndjson'])
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const INFLATED_CHUNK_BYTES = 128 * 1024
/** Checked in a step: less than a millisecond, whatever the characters. */
const CHECKED_BYTES = 1024 * 1024
const CONTINUATION_BYTES_MAX = 3
const GZIP_LENGTH_BYTES = 4

type Encoding = 'identity' | 'gzip'

/**
 * Which bodies are accepted. `bytesMax` counts decoded bytes, and its default is BODY_BYTES_MAX.
 * Without `memory` nobody counts what the body holds.
 */
export interface BodyOptions {
  readonly bytesMax?: number
  /** Whether NDJSON will do as well. */
  readonly allowsLines?: boolean
  /** Charged with every byte that is kept; the caller closes it when the body is done with. */
  readonly memory?: HeldMemory
}

/**
 * The decoded body: UTF-8 text without a byte order mark, empty if there is none. Refuses what is
 * not JSON by its headers before reading anything. Rejects with CANCELLED when the client goes away
 * in the middle, so a cut body is never taken for a whole one, and with OVERLOADED when all requests
 * together hold too much.
 */
export async function readBody(
  request: IncomingMessage,
  { bytesMax = BODY_BYTES_MAX, allowsLines = false, memory }: BodyOptions = {},
): Promise<Buffer> {
  checkContentType(request.headers['content-type'], allowsLines)
  const encoding = parseEncoding(request.headers['content-encoding'])
  const received = await receive(request, bytesMax, memory)
  const body = encoding === 'gzip' ? await inflate(received, bytesMax, memory) : received
  if (beginsWithMark(body)) {
    throw invalid('the body begins with a byte order mark; send UTF-8 without it')
  }
  // Long bodies share the thread; short ones, which are most, need no turn of their own.
  const isValid =
    body.length <= AT_ONCE_BYTES_MAX
      ? isUtf8(body)
      : await runSliced(isText(body), { clock: systemClock })
  if (!isValid) throw invalid('the body is not valid UTF-8')
  return body
}

function beginsWithMark(body: Buffer): boolean {
  if (body[0] !== BYTE_ORDER_MARK[0]) return false
  return body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
}

/** Whether the bytes are UTF-8, looked at in pieces that end where a character does. */
function* isText(bytes: Buffer): Sliced<boolean> {
  let start = 0
  while (bytes.length - start > CHECKED_BYTES) {
    const end = characterStart(bytes, start + CHECKED_BYTES)
    if (!isUtf8(bytes.subarray(start, end))) return false
    start = end
    yield
  }
  return isUtf8(bytes.subarray(start))
}

/** The start of the character that the byte at `at` belongs to, if the text is UTF-8. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at
  while (at - start < CONTINUATION_BYTES_MAX && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  return start
}

function checkContentType(header: string | undefined, allowsLines: boolean): void {
  if (header === undefined || header === 'application/json') return
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  const isLines = allowsLines && LINE_TYPES.has(type)
  if (type !== 'application/json' && !isLines && !/^application\/[\w.-]+\+json$/.test(type)) {
    const shown = JSON.stringify(type.slice(0, 100))
    throw unsupported(`content-type ${shown} is not supported; send application/json`)
  }
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  const name = charset?.slice('charset='.length).replaceAll('"', '') ?? 'utf-8'
  if (!['utf-8', 'utf8', 'us-ascii'].includes(name)) {
    const shown = JSON.stringify(name.slice(0, 100))
    throw unsupported(`charset ${shown} is not supported; send UTF-8`)
  }
}

function parseEncoding(header: string | undefined): Encoding {
  const name = header?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return 'identity'
  if (name === 'gzip' || name === 'x-gzip') return 'gzip'
  const shown = JSON.stringify(name.slice(0, 100))
  throw unsupported(`content-encoding ${shown} is not supported; use gzip or none`)
}

/** The decompressed bytes of a gzip body. At the end it releases the received bytes. */
async function inflate(
  received: Buffer,
  bytesMax: number,
  memory: HeldMemory | undefined,
): Promise<Buffer> {
  if (received.length === 0) return received
  const gunzip = createGunzip({ chunkSize: INFLATED_CHUNK_BYTES })
  const announced = Math.min(inflatedBytesOf(received), bytesMax)
  const bytes = new ByteCollector(announced, { ownsChunks: true })
  try {
    gunzip.end(received)
    for await (const chunk of gunzip) {
      if (bytes.length + chunk.length > bytesMax) throw tooLarge(bytesMax)
      memory?.add(chunk.length)
      bytes.add(chunk)
    }
  } catch (cause) {
    bytes.free()
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('INVALID_ARGUMENT', 'the body is not complete, valid gzip', { cause })
  } finally {
    gunzip.destroy()
    memory?.release(received.length)
  }
  return joinBody(bytes, memory)
}

/** What gzip says of the length of its last member (RFC 1952, section 2.3.1): a hint, which a client may have made up. */
function inflatedBytesOf(received: Buffer): number {
  return received.length < GZIP_LENGTH_BYTES
    ? 0
    : received.readUInt32LE(received.length - GZIP_LENGTH_BYTES)
}

/** For operations that cannot do without a body. */
export function bodyMissing(): ServiceError {
  return invalid('the body is empty; send a JSON object')
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}

function unsupported(message: string): ServiceError {
  return new ServiceError('UNSUPPORTED_MEDIA_TYPE', message)
}
