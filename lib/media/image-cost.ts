// What decoding and resizing an image costs, by its header alone: before anything is unpacked. The store makes images
// smaller for models of others, and the inference server makes them the input of its own.
//
// libvips streams rows where the format lets it, and then holds some of them. What it cannot stream is in memory as a
// whole: interlaced PNGs, the coefficients of progressive JPEGs, lossless WebPs, and GIFs. The constants are
// measured: decision 0142 has the table.

import { unreachable } from '../assert.ts'
import type { ImageType } from './image-type.ts'

/** The limits of every image that is decoded, for documents as for clients. */
export interface ImageCostLimits {
  /** The most bytes of all samples: what decoding costs in time. A small file can unpack to a huge image. */
  readonly imageUnpackedBytesMax: number
  /** The most memory that decoding and resizing takes, within that of the process that does it. */
  readonly imageMemoryBytesMax: number
}

const MIB = 1024 * 1024

export const IMAGE_COST_LIMITS_DEFAULT: ImageCostLimits = {
  imageUnpackedBytesMax: 2048 * MIB,
  imageMemoryBytesMax: 704 * MIB,
}

/** What the library of images tells of one, before it is unpacked. */
export interface ImageMetadata {
  readonly width: number
  readonly height: number
  readonly channels: number
  /** `uchar` for one byte a sample. */
  readonly depth: string
  readonly hasAlpha: boolean
  readonly isProgressive: boolean
  readonly chromaSubsampling?: string | undefined
}

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
/** A lossy WebP is decoded into two frames in colours and one in YUV, all of the size to which its decoder shrinks it. */
const LOSSY_FRAMES = 2.5

/** What is made of an image. */
export interface ImageMaking {
  readonly madePixels: number
  /** What a pixel that is made takes until it is handed on. */
  readonly madePixelBytes: number
  /** How many times smaller the decoder of WebP may make each edge. */
  readonly shrink: number
  /** What whole rows take that are kept between two passes, for each pixel of the image. */
  readonly keptPixelBytes: number
}

export function imageHeaderOf(metadata: ImageMetadata, type: ImageType): ImageHeader {
  const { width, height, channels, hasAlpha, isProgressive, chromaSubsampling } = metadata
  const bytesPerSample = metadata.depth === 'uchar' ? 1 : 2
  const samples = { channels, bytesPerSample, chromaSubsampling } as const
  return { type, width, height, ...samples, hasAlpha, isProgressive }
}

/** Why an image is not unpacked, in words that name the limit and the way out; undefined if it is within the limits. */
export function whyTooCostly(
  header: ImageHeader,
  { bytes, making }: { readonly bytes: Uint8Array; readonly making: ImageMaking },
  { imageUnpackedBytesMax, imageMemoryBytesMax }: ImageCostLimits,
): string | undefined {
  const size = `${header.width} × ${header.height} pixels`
  const unpackedBytes = unpackedBytesOf(header)
  if (unpackedBytes > imageUnpackedBytesMax) {
    return `its ${size} unpack to ${unpackedBytes} bytes, and ${imageUnpackedBytesMax} is the most; send it smaller`
  }
  const memoryBytes = memoryBytesOf(header, bytes, making)
  if (memoryBytes <= imageMemoryBytesMax) return undefined
  return (
    `its ${size} take up to ${Math.ceil(memoryBytes)} bytes of memory to resize, and ${imageMemoryBytesMax} is ` +
    `the most; send it smaller${otherWayOut(header)}`
  )
}

/** Whatever is not streamed takes less memory in a form that is. */
function otherWayOut({ type, isProgressive }: ImageHeader): string {
  if (type === 'image/png') return isProgressive ? ', or without interlacing' : ''
  if (type === 'image/jpeg') return isProgressive ? ', or as a baseline JPEG' : ''
  return ', or as a JPEG or PNG'
}

/** All samples of the image: what takes the time. */
function unpackedBytesOf({ width, height, channels, bytesPerSample }: ImageHeader): number {
  return width * height * channels * bytesPerSample
}

/** An upper bound of the memory that the making takes. */
function memoryBytesOf(header: ImageHeader, bytes: Uint8Array, making: ImageMaking): number {
  const { width, height, bytesPerSample } = header
  const channels = Math.max(header.channels, CHANNELS_WORKED_MIN)
  const rows = Math.min(ROWS_HELD, height * ROWS_HELD_RATIO)
  return (
    BASE_BYTES +
    rows * width * channels * bytesPerSample +
    wholeBytesOf(header, bytes, making.shrink) +
    width * height * making.keptPixelBytes +
    making.madePixels * making.madePixelBytes
  )
}

/** What is in memory before the first row can be resized. */
function wholeBytesOf(header: ImageHeader, bytes: Uint8Array, shrink: number): number {
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
      return (
        pixels * webpPixelBytes(header, bytes) +
        (pixels / shrink ** 2) * channels * (isOpaqueLossy(header, bytes) ? LOSSY_FRAMES : 1)
      )
    default:
      return unreachable(type)
  }
}

/** WebPs in one lossy frame are decoded by rows, their transparency is not. */
function webpPixelBytes({ hasAlpha }: ImageHeader, bytes: Uint8Array): number {
  if (!isLossyFrame(bytes)) return LOSSLESS_PIXEL_BYTES
  return hasAlpha ? ALPHA_PIXEL_BYTES : 0
}

function isOpaqueLossy({ hasAlpha }: ImageHeader, bytes: Uint8Array): boolean {
  return !hasAlpha && isLossyFrame(bytes)
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
