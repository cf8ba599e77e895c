// Media that tests make: small ones, and hostile ones.

import type { ServerResponse } from 'node:http'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'

export function asDataUri(bytes: Buffer | string, type = 'application/octet-stream'): string {
  return `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
}

export function bytesOfDataUri(uri: string): Buffer {
  return Buffer.from(uri.slice(uri.indexOf(',') + 1), 'base64')
}

export function imageOf(
  width: number,
  height: number,
  format: 'png' | 'jpeg' | 'webp' | 'gif',
): Promise<Buffer> {
  const create = { width, height, channels: 3, background: 'teal' } as const
  return sharp({ create }).toFormat(format).toBuffer()
}

/** Sends chunks until the reader hangs up. */
export function sendEndlessly(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', more)
  more()
}

/** A PNG whose header promises so many pixels. */
export function pngBomb(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const data = deflateSync(Buffer.alloc(1_000_000))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([
    signature,
    pngChunk('IHDR', header),
    pngChunk('IDAT', data),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}
