// Turns the bytes of an image into a graph's input: three planes, red, green and blue, of rows of
// pixels (NCHW with N = 1). No other file imports sharp.

import type { Metadata, Sharp, SharpOptions } from 'sharp'
import { assert, unreachable } from '../../lib/assert.ts'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import { imageHeaderOf, whyTooCostly } from '../../lib/media/image-cost.ts'
import type { ImageMaking } from '../../lib/media/image-cost.ts'
import { sniffImageType } from '../../lib/media/image-type.ts'
import type { ImageRecipe, PixelSize, ResizeTarget } from './image-recipe.ts'
import type { MediaLimits } from './media-limits.ts'

type SharpFactory = (input: Uint8Array, options: SharpOptions) => Sharp
type SharpLoader = () => Promise<SharpFactory>

/** A thinner strip would be resized to a very long one, most of which the crop then cuts off. */
const ASPECT_RATIO_MAX = 200
const DECODE_SECONDS_MAX = 20
/** libvips reports one message for each decoder that it tried, so reasons are cut. */
const REASON_CHARS_MAX = 200
const CHANNELS = 3
/** What a pixel of the graph's input takes: its bytes as decoded, and a number for each channel. */
const TENSOR_PIXEL_BYTES = CHANNELS + CHANNELS * Float32Array.BYTES_PER_ELEMENT
/** EXIF: a mirror image, which is turned over row by row. Beyond it all rows must be there. */
const ORIENTATION_MIRRORED = 2

/** The pixels of one image as a graph takes them. */
export interface ImageTensor extends PixelSize {
  /** 3 × height × width numbers. */
  readonly data: Float32Array
}

/** Decodes and resizes on the threads of libuv. The caller's thread only normalises the pixels. */
export class ImagePreprocessor {
  readonly #limits: MediaLimits
  readonly #load: SharpLoader
  #sharp: Promise<SharpFactory> | undefined

  constructor(limits: MediaLimits, load: SharpLoader = loadSharp) {
    this.#limits = limits
    this.#load = load
  }

  /**
   * Rejects with INVALID_ARGUMENT for an image that cannot be decoded, or whose header says that it takes
   * more time or memory than the limits, before it is unpacked; and with UNAVAILABLE where sharp is not installed. It follows the processors of the Transformers
   * library: it turns an image upright by its EXIF orientation, uses only the first frame of an
   * animation, shows transparent pixels in their stored colour, and ignores colour profiles.
   */
  async preprocess(bytes: Uint8Array, recipe: ImageRecipe): Promise<ImageTensor> {
    const open = await this.#opener()
    try {
      const options = {
        limitInputPixels: false, // it counts pixels, whatever they cost
        failOn: 'error',
        sequentialRead: true,
        ignoreIcc: true,
      } as const
      const source = open(bytes, options)
      const metadata = await source.metadata()
      const { width, height } = metadata.autoOrient
      checkShape({ width, height })
      this.#checkCost(bytes, metadata, recipe)
      const upright = source.timeout({ seconds: DECODE_SECONDS_MAX }).autoOrient()
      const opaque = metadata.hasAlpha ? await withoutAlpha(upright, open, options) : upright
      return await toTensor(opaque, { width, height }, recipe)
    } catch (error) {
      if (error instanceof ServiceError) throw error
      throw refuse(`it cannot be decoded: ${reasonOf(error)}`, error)
    }
  }

  async #opener(): Promise<SharpFactory> {
    this.#sharp ??= this.#load()
    try {
      return await this.#sharp
    } catch (cause) {
      const message = 'images are not served: the package sharp is not installed for this platform'
      throw new ServiceError('UNAVAILABLE', message, { cause })
    }
  }

  #checkCost(bytes: Uint8Array, metadata: Metadata, recipe: ImageRecipe): void {
    const type = sniffImageType(bytes)
    if (type === undefined) throw refuse('it is none of PNG, JPEG, WebP and GIF')
    const making = makingOf(metadata, recipe)
    const why = whyTooCostly(imageHeaderOf(metadata, type), { bytes, making }, this.#limits)
    if (why !== undefined) throw refuse(why)
  }
}

function checkShape({ width, height }: PixelSize): void {
  if (Math.max(width, height) <= Math.min(width, height) * ASPECT_RATIO_MAX) return
  throw refuse(`one edge is over ${ASPECT_RATIO_MAX} times the other`)
}

/** All rows are kept where transparency is removed, and where the image is turned. */
function makingOf(metadata: Metadata, recipe: ImageRecipe): ImageMaking {
  const { autoOrient, hasAlpha, channels, depth, orientation = 1 } = metadata
  const made = recipe.centreCrop ?? resizedSize(autoOrient, recipe.resize)
  const turnedBytes =
    orientation > ORIENTATION_MIRRORED ? channels * (depth === 'uchar' ? 1 : 2) : 0
  return {
    madePixels: made.width * made.height,
    madePixelBytes: TENSOR_PIXEL_BYTES,
    shrink: 1, // models were trained on full-size decoding
    keptPixelBytes: turnedBytes + (hasAlpha ? CHANNELS : 0),
  }
}

const LOADERS = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
]

/**
 * Loads sharp with the first image, so that a server of texts also runs where sharp has no binary.
 */
async function loadSharp(): Promise<SharpFactory> {
  const { default: sharp } = await import('sharp')
  sharp.cache(false) // each image is read once
  // Of the decoders of libvips, those of the formats that are served (lib/media/image-type.ts).
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: LOADERS })
  return sharp
}

/**
 * Removes the alpha channel in a pass of its own, which holds all pixels in memory. Resizing weighs
 * colours by opacity and would turn transparent pixels black.
 */
async function withoutAlpha(
  source: Sharp,
  open: SharpFactory,
  options: SharpOptions,
): Promise<Sharp> {
  const { data, info } = await source
    .removeAlpha()
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
  const { width, height } = info
  const raw = { width, height, channels: CHANNELS } as const
  return open(data, { ...options, raw }).timeout({ seconds: DECODE_SECONDS_MAX })
}

async function toTensor(source: Sharp, size: PixelSize, recipe: ImageRecipe): Promise<ImageTensor> {
  const resized = resizedSize(size, recipe.resize)
  const crop = recipe.centreCrop ?? resized
  const visible = visibleRegion(resized, crop)
  const { data, info } = await source
    .toColourspace('srgb')
    // Models were trained on full-size decoding. Decoding at half the size changes the pixels.
    .resize({ ...resized, fit: 'fill', kernel: recipe.kernel, fastShrinkOnLoad: false })
    .extract(visible)
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
  assert(info.channels === CHANNELS, 'three channels after the conversion to sRGB')
  return { ...crop, data: normalisePixels(data, { visible, crop, recipe }) }
}

function resizedSize({ width, height }: PixelSize, target: ResizeTarget): PixelSize {
  switch (target.kind) {
    case 'none':
      return { width, height }
    case 'exact':
      return target.size
    case 'shortest-edge': {
      // The longer edge is rounded down, as in the Transformers library.
      const { edge } = target
      if (width <= height) return { width: edge, height: Math.floor((edge * height) / width) }
      return { width: Math.floor((edge * width) / height), height: edge }
    }
    default:
      return unreachable(target)
  }
}

interface Region extends PixelSize {
  readonly left: number
  readonly top: number
}

/** The part of the resized image that lies within the centred crop. */
function visibleRegion(image: PixelSize, crop: PixelSize): Region {
  return {
    left: Math.max(0, Math.floor((image.width - crop.width) / 2)),
    top: Math.max(0, Math.floor((image.height - crop.height) / 2)),
    width: Math.min(image.width, crop.width),
    height: Math.min(image.height, crop.height),
  }
}

interface PixelLayout {
  readonly visible: Region
  readonly crop: PixelSize
  readonly recipe: ImageRecipe
}

/** A byte has 256 values, so each channel has a table of results. */
function normalisePixels(bytes: Uint8Array, { visible, crop, recipe }: PixelLayout): Float32Array {
  const plane = crop.width * crop.height
  const data = new Float32Array(CHANNELS * plane)
  // An odd black border has its larger half first, as in the Transformers library.
  const left = Math.ceil((crop.width - visible.width) / 2)
  const top = Math.ceil((crop.height - visible.height) / 2)
  for (let channel = 0; channel < CHANNELS; channel += 1) {
    const values = channelValues(recipe, channel)
    data.fill(values[0] ?? 0, channel * plane, (channel + 1) * plane)
    for (let y = 0; y < visible.height; y += 1) {
      let to = channel * plane + (top + y) * crop.width + left
      let from = y * visible.width * CHANNELS + channel
      for (let x = 0; x < visible.width; x += 1) {
        data[to] = values[bytes[from] ?? 0] ?? 0
        to += 1
        from += CHANNELS
      }
    }
  }
  return data
}

function channelValues(
  { rescaleFactor, mean, deviation }: ImageRecipe,
  channel: number,
): Float32Array {
  const [from = 0, by = 1] = [mean[channel], deviation[channel]]
  return Float32Array.from({ length: 256 }, (_, byte) => (byte * rescaleFactor - from) / by)
}

function reasonOf(error: unknown): string {
  return messageOf(error).replaceAll(/\s+/g, ' ').trim().slice(0, REASON_CHARS_MAX)
}

function refuse(why: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `image: ${why}`, { cause })
}
