// What decoding and resizing an image costs, by its header alone: before anything is unpacked.
//
// libvips streams rows where the format lets it, and then holds some of them. What it cannot stream is in memory as a
// whole: interlaced PNGs, the coefficients of progressive JPEGs, lossless WebPs, and GIFs. The constants are
// measured: decision 0142 has the table.

import { unreachable } from '../../lib/assert.ts'
import type { ImageType } from '../../lib/media/image-type.ts'

/** What the header of an image says. */
export interface ImageHeader {
  readonly type: ImageType
  readonly width: number
  readonly height: number
  readonly channels: number
  readonly bytesPerSample: 1 | 2
  readonly hasAlpha: boolean
  /** An interlaced PNG, or a JPEG in more than one scan. */
  readonly isProgressive: boolean
  /** Such as `4:2:0`. */
  readonly chromaSubsampling: string | undefined
}

const MIB = 1024 * 1024
/** Code of libvips, tables, and the image that is made at the usual size. */
const BASE_BYTES = 48 * MIB
/** The rows that libvips holds while it streams, or that many times all rows, where these are fewer. */
const ROWS_HELD = 2048
const ROWS_HELD_RATIO = 2.5
const CHANNELS_WORKED_MIN = 3
/** libjpeg keeps each coefficient of a progressive JPEG. */
const COEFFICIENT_BYTES = 2
const SUBSAMPLED_COEFFICIENTS = 1.5
/** libnsgif keeps a canvas in RGBA and the indexes of a frame. */
const GIF_PIXEL_BYTES = 5
const LOSSLESS_PIXEL_BYTES = 4
const ALPHA_PIXEL_BYTES = 2
/** Encoders of JPEG and WebP hold the image that is made as a whole; that of PNG streams. */
const ENCODED_PIXEL_BYTES: Readonly<Record<ImageType, number>> = {
  'image/png': 0,
  'image/gif': 0,
  'image/jpeg': 6,
  'image/webp': 12,
}

/** All samples of the image: what takes the time. */
export function unpackedBytesOf({ width, height, channels, bytesPerSample }: ImageHeader): number {
  return width * height * channels * bytesPerSample
}

/** An upper bound of the memory that it takes to make `bytes` an image with edges of `edgeMax` at most. */
export function memoryBytesOf(header: ImageHeader, bytes: Uint8Array, edgeMax: number): number {
  const { width, height, type, bytesPerSample } = header
  const ratio = Math.max(1, Math.max(width, height) / edgeMax)
  const madePixels = (width * height) / ratio ** 2
  const channels = Math.max(header.channels, CHANNELS_WORKED_MIN)
  const rows = Math.min(ROWS_HELD, height * ROWS_HELD_RATIO)
  return (
    BASE_BYTES +
    rows * width * channels * bytesPerSample +
    wholeBytesOf(header, bytes, ratio) +
    madePixels * ENCODED_PIXEL_BYTES[type]
  )
}

/** What is in memory before the first row can be resized. */
function wholeBytesOf(header: ImageHeader, bytes: Uint8Array, ratio: number): number {
  const { type, width, height, channels, isProgressive, chromaSubsampling } = header
  const pixels = width * height
  switch (type) {
    case 'image/png':
      return isProgressive ? unpackedBytesOf(header) : 0
    case 'image/jpeg': {
      const coefficients = chromaSubsampling === '4:2:0' ? SUBSAMPLED_COEFFICIENTS : channels
      return isProgressive ? pixels * coefficients * COEFFICIENT_BYTES : 0
    }
    case 'image/gif':
      return pixels * GIF_PIXEL_BYTES
    case 'image/webp':
      // Its decoder shrinks by whole numbers while it decodes.
      return pixels * webpPixelBytes(header, bytes) + (pixels * channels) / Math.floor(ratio) ** 2
    default:
      return unreachable(type)
  }
}

/** WebPs in one lossy frame are decoded by rows, their transparency is not. */
function webpPixelBytes({ hasAlpha }: ImageHeader, bytes: Uint8Array): number {
  if (!isLossyFrame(bytes)) return LOSSLESS_PIXEL_BYTES
  return hasAlpha ? ALPHA_PIXEL_BYTES : 0
}

/** https://developers.google.com/speed/webp/docs/riff_container */
function isLossyFrame(bytes: Uint8Array): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let at = 12; at + 8 <= view.length;) {
    const name = view.toString('latin1', at, at + 4)
    if (name === 'VP8 ') return true
    if (name === 'VP8L' || name === 'ANMF') return false
    const size = view.readUInt32LE(at + 4)
    at += 8 + size + (size % 2)
  }
  return false
}
