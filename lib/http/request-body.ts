// Reads a request body as bytes, once, within bounds, for both doors.

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { ServiceError, messageOf } from '../errors.ts'

/** Of the body as it arrives, and again of what it decompresses to. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024

const LINE_TYPES: ReadonlySet<string> = new Set(['application/x-ndjson', 'application/ndjson'])
const EMPTY = Buffer.alloc(0)
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const gunzipAsync = promisify(gunzip)

type Encoding = 'identity' | 'gzip'

export interface BodyOptions {
  readonly bytesMax?: number
  /** Whether NDJSON will do as well. */
  readonly allowsLines?: boolean
}

/**
 * The decoded body: UTF-8 text without a byte order mark, empty if there is none. Refuses what is
 * not JSON by its headers before reading anything. Rejects with CANCELLED when the client goes away
 * in the middle, so a cut body is never taken for a whole one.
 */
export async function readBody(
  request: IncomingMessage,
  { bytesMax = BODY_BYTES_MAX, allowsLines = false }: BodyOptions = {},
): Promise<Buffer> {
  checkContentType(request.headers['content-type'], allowsLines)
  const encoding = parseEncoding(request.headers['content-encoding'])
  const received = await collect(request, bytesMax)
  const body = encoding === 'gzip' ? await decompress(received, bytesMax) : received
  if (body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    throw invalid('the body begins with a byte order mark; send UTF-8 without it')
  }
  if (!isUtf8(body)) throw invalid('the body is not valid UTF-8')
  return body
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

function collect(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > bytesMax) return Promise.reject(tooLarge(request, bytesMax))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= bytesMax) {
        chunks.push(chunk)
      } else {
        chunks.length = 0
        reject(tooLarge(request, bytesMax))
      }
    })
    request.once('end', () => resolve(joined(chunks)))
    const gone = (): void => {
      // The request also closes after its end; an error with its stack would be made for nothing.
      if (!request.complete) reject(new ServiceError('CANCELLED', 'the client went away'))
    }
    request.once('error', gone)
    request.once('close', gone)
  })
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first = EMPTY] = chunks
  return chunks.length <= 1 ? first : Buffer.concat(chunks)
}

/** What is still to come is thrown away as it arrives, so that the client can read the refusal. */
function tooLarge(request: IncomingMessage, bytesMax: number): ServiceError {
  request.resume()
  return bodyTooLarge(bytesMax)
}

function bodyTooLarge(bytesMax: number): ServiceError {
  const limit = bytesMax >= 2 ** 20 ? `${bytesMax / 2 ** 20} MiB` : `${bytesMax} bytes`
  return new ServiceError('PAYLOAD_TOO_LARGE', `the body is larger than ${limit}; send it in parts`)
}

async function decompress(received: Buffer, bytesMax: number): Promise<Buffer> {
  if (received.length === 0) return received
  try {
    return await gunzipAsync(received, { maxOutputLength: bytesMax })
  } catch (cause) {
    if (cause instanceof RangeError) throw bodyTooLarge(bytesMax)
    throw new ServiceError('INVALID_ARGUMENT', 'the body is not complete, valid gzip', { cause })
  }
}

export function parseJsonBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch (cause) {
    throw new ServiceError('INVALID_ARGUMENT', `the body is not JSON: ${messageOf(cause)}`, {
      cause,
    })
  }
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
