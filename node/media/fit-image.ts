// Makes an image fit for a model, in the process that reads documents (document-worker.ts): the decoders are native
// code, and strangers choose their input. No other file of the store imports sharp.

import type { Metadata, Sharp, SharpOptions } from 'sharp'
import { messageOf } from '../../lib/errors.ts'
import type { ImageType } from '../../lib/media/image-type.ts'
import type { DocumentReading, DocumentRequest } from './document-protocol.ts'
import { memoryBytesOf, unpackedBytesOf } from './image-cost.ts'
import type { ImageHeader } from './image-cost.ts'

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

type ImageRequest = Extract<DocumentRequest, { kind: 'image' }>

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
    const header = headerOf(await source.metadata(), type)
    if (Math.max(header.width, header.height) <= edge) return { kind: 'fitting' }
    const tooCostly = whyTooCostly(header, bytes, request)
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

function headerOf(metadata: Metadata, type: ImageType): ImageHeader {
  const { width, height, channels, hasAlpha, isProgressive, chromaSubsampling } = metadata
  const bytesPerSample = metadata.depth === 'uchar' ? 1 : 2
  const samples = { channels, bytesPerSample, chromaSubsampling } as const
  return { type, width, height, ...samples, hasAlpha, isProgressive }
}

function whyTooCostly(
  header: ImageHeader,
  bytes: Buffer,
  { imageEdgePixelsMax, imageUnpackedBytesMax, imageMemoryBytesMax }: ImageRequest,
): string | undefined {
  const size = `${header.width} × ${header.height} pixels`
  const unpackedBytes = unpackedBytesOf(header)
  if (unpackedBytes > imageUnpackedBytesMax) {
    return `its ${size} unpack to ${unpackedBytes} bytes, and ${imageUnpackedBytesMax} is the most; send it smaller`
  }
  const memoryBytes = memoryBytesOf(header, bytes, imageEdgePixelsMax)
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
