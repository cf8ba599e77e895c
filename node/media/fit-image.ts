// Makes an image fit for a model. No other file of the store imports sharp.

import type { Sharp, SharpOptions } from 'sharp'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import type { DownloadMemory } from '../../lib/media/media-downloader.ts'
import { refuseMedium } from './media-error.ts'

type SharpFactory = (input: Uint8Array, options: SharpOptions) => Sharp

const DECODE_SECONDS_MAX = 20
/** libvips reports one message for each decoder that it tried, so reasons are cut. */
const REASON_CHARS_MAX = 200
const JPEG_QUALITY = 88
const BYTES_PER_PIXEL = 4

/** An image as its type says. */
export interface FittedImage {
  readonly type: string
  readonly bytes: Buffer
}

/** The bounds of images, before and after, and the account of what they unpack to. */
export interface ImageBounds {
  readonly memory: DownloadMemory
  readonly imageEdgePixelsMax: number
  readonly imagePixelsMax: number
}

/**
 * The image itself if no edge is too long; else resized, upright, in its own format (a GIF's first
 * frame as PNG). Decodes on the threads of libuv. Rejects with INVALID_ARGUMENT for an image that
 * cannot be decoded or has too many pixels, before it is unpacked.
 */
export async function fitImage(
  bytes: Buffer,
  type: string,
  { imageEdgePixelsMax, imagePixelsMax, memory }: ImageBounds,
): Promise<FittedImage> {
  const sharp = await loadSharp()
  try {
    const source = sharp(bytes, { limitInputPixels: imagePixelsMax, sequentialRead: true })
    const { width, height } = await source.metadata()
    if (width * height > imagePixelsMax) throw refuseMedium(`it has over ${imagePixelsMax} pixels`)
    if (Math.max(width, height) <= imageEdgePixelsMax) return { type, bytes }
    // Some images are unpacked as a whole: interlaced ones, and those that are turned upright.
    const unpackedBytes = width * height * BYTES_PER_PIXEL
    await memory.add(unpackedBytes)
    const edge = imageEdgePixelsMax
    const resized = source
      .timeout({ seconds: DECODE_SECONDS_MAX })
      .autoOrient()
      .resize({ width: edge, height: edge, fit: 'inside', withoutEnlargement: true })
    const fitted = await encoded(resized, type)
    memory.release(unpackedBytes)
    return fitted
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const reason = messageOf(error).replaceAll(/\s+/g, ' ').trim().slice(0, REASON_CHARS_MAX)
    throw refuseMedium(`the image cannot be decoded: ${reason}`, error)
  }
}

async function encoded(image: Sharp, type: string): Promise<FittedImage> {
  if (type === 'image/jpeg') {
    return { type, bytes: await image.jpeg({ quality: JPEG_QUALITY }).toBuffer() }
  }
  if (type === 'image/webp') return { type, bytes: await image.webp().toBuffer() }
  return { type: 'image/png', bytes: await image.png().toBuffer() }
}

async function loadSharp(): Promise<SharpFactory> {
  try {
    const { default: sharp } = await import('sharp')
    sharp.cache(false) // each image is read once
    return sharp
  } catch (cause) {
    const message = 'images are not read: the package sharp is not installed for this platform'
    throw new ServiceError('UNAVAILABLE', message, { cause })
  }
}
