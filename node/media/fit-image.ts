// Makes an image fit for a model, in the process that reads documents (document-worker.ts): the decoders are native
// code, and strangers choose their input. No other file of the store imports sharp.

import type { Sharp, SharpOptions } from 'sharp'
import { messageOf } from '../../lib/errors.ts'
import type { DocumentReading, DocumentRequest } from './document-protocol.ts'

type SharpFactory = (input: Uint8Array, options: SharpOptions) => Sharp

const DECODE_SECONDS_MAX = 20
/** libvips reports one message for each decoder that it tried, so reasons are cut. */
const REASON_CHARS_MAX = 200
const JPEG_QUALITY = 88
/** The decoders of the formats that are read; all others of libvips are blocked. */
const LOADERS = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
]

/**
 * Nothing if no edge is too long; else the image resized, upright, in its own format (a GIF's first
 * frame as PNG). Refused if it cannot be decoded or has too many pixels, before it is unpacked. The memory for it is that of
 * the process.
 */
export async function fitImage(
  bytes: Buffer,
  { type, imageEdgePixelsMax, imagePixelsMax }: Extract<DocumentRequest, { kind: 'image' }>,
): Promise<DocumentReading> {
  try {
    const sharp = await loadSharp()
    const source = sharp(bytes, { limitInputPixels: imagePixelsMax, sequentialRead: true })
    const { width, height } = await source.metadata()
    if (width * height > imagePixelsMax) return refused(`it has over ${imagePixelsMax} pixels`)
    if (Math.max(width, height) <= imageEdgePixelsMax) return { kind: 'fitting' }
    const edge = imageEdgePixelsMax
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

function refused(why: string): DocumentReading {
  return { kind: 'refused', why }
}

async function encoded(image: Sharp, type: string): Promise<DocumentReading> {
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
