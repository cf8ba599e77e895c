// Makes an image fit for a model, in the process that reads documents (document-worker.ts): the decoders are native
// code, and strangers choose their input. No other file of the store imports sharp.

import type { Sharp, SharpOptions } from 'sharp'
import { messageOf } from '../../lib/errors.ts'
import { imageHeaderOf, whyTooCostly } from '../../lib/media/image-cost.ts'
import type { ImageHeader, ImageMaking } from '../../lib/media/image-cost.ts'
import type { ImageType } from '../../lib/media/image-type.ts'
import type { DocumentReading, ImageRequest } from './document-protocol.ts'

type SharpFactory = (input: Uint8Array, options: SharpOptions) => Sharp

const DECODE_SECONDS_MAX = 20
/** libvips reports one message for each decoder that it tried, so reasons are cut. */
const REASON_CHARS_MAX = 200
const JPEG_QUALITY = 88
/** Encoders of JPEG and WebP hold the image that is made as a whole; that of PNG streams. */
const ENCODED_PIXEL_BYTES: Readonly<Record<ImageType, number>> = {
  'image/png': 0,
  'image/gif': 0,
  'image/jpeg': 6,
  'image/webp': 12,
}
/** The decoders of the formats that are read; all others of libvips are blocked. */
const LOADERS = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
]

/**
 * `fitting` if no edge is too long; else the image resized, upright, in its own format (a GIF's first
 * frame as PNG). Refused if it cannot be decoded, or if its header says that it takes too much time or
 * memory, before it is unpacked.
 */
export async function fitImage(bytes: Buffer, request: ImageRequest): Promise<DocumentReading> {
  const { type, imageEdgePixelsMax: edge } = request
  try {
    const sharp = await loadSharp()
    // Without the limit of sharp, which counts pixels, whatever they cost.
    const source = sharp(bytes, { limitInputPixels: false, sequentialRead: true })
    const header = imageHeaderOf(await source.metadata(), type)
    if (Math.max(header.width, header.height) <= edge) return { kind: 'fitting' }
    const tooCostly = whyTooCostly(header, { bytes, making: makingOf(header, edge) }, request)
    if (tooCostly !== undefined) return refused(tooCostly)
    const resized = source
      .timeout({ seconds: DECODE_SECONDS_MAX })
      .autoOrient()
      .resize({ width: edge, height: edge, fit: 'inside', withoutEnlargement: true })
    return await encoded(resized, type)
  } catch (error) {
    const reason = messageOf(error).replaceAll(/\s+/g, ' ').trim().slice(0, REASON_CHARS_MAX)
    return refused(`the image cannot be decoded: ${reason}`)
  }
}

/** The decoder of WebP shrinks by whole numbers while it decodes. */
function makingOf({ type, width, height }: ImageHeader, edge: number): ImageMaking {
  const ratio = Math.max(1, Math.max(width, height) / edge)
  const madePixels = (width * height) / ratio ** 2
  const madePixelBytes = ENCODED_PIXEL_BYTES[type]
  return { madePixels, madePixelBytes, shrink: Math.floor(ratio), keptPixelBytes: 0 }
}

function refused(why: string): DocumentReading {
  return { kind: 'refused', why }
}

async function encoded(image: Sharp, type: ImageType): Promise<DocumentReading> {
  if (type === 'image/jpeg') {
    return { kind: 'image', type, bytes: await image.jpeg({ quality: JPEG_QUALITY }).toBuffer() }
  }
  if (type === 'image/webp') return { kind: 'image', type, bytes: await image.webp().toBuffer() }
  return { kind: 'image', type: 'image/png', bytes: await image.png().toBuffer() }
}

async function loadSharp(): Promise<SharpFactory> {
  const { default: sharp } = await import('sharp')
  sharp.cache(false) // each image is read once
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: LOADERS })
  return sharp
}
