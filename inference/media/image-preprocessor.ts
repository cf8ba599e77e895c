// From the bytes of an image to the numbers a graph wants: three planes, red, green and blue, of
// rows of pixels (NCHW with N = 1). The only file that knows sharp.

import type { Sharp, SharpOptions } from 'sharp'
import { assert, unreachable } from '../../lib/assert.ts'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import type { ImageRecipe, PixelSize, ResizeTarget } from './image-recipe.ts'
import type { MediaLimits } from './media-limits.ts'

type SharpFactory = (input: Uint8Array, options: SharpOptions) => Sharp
type SharpLoader = () => Promise<SharpFactory>

/** A strip this thin would be resized to a very long one before the crop throws most of it away. */
const ASPECT_RATIO_MAX = 200
const DECODE_SECONDS_MAX = 20
/** libvips lists what each of its decoders found wrong. */
const REASON_CHARS_MAX = 200
const CHANNELS = 3

export interface ImageTensor extends PixelSize {
  /** 3 × height × width. */
  readonly data: Float32Array
}

/** Decodes on the threads of libuv: the caller's thread only does the last pass over the pixels. */
export class ImagePreprocessor {
  readonly #limits: MediaLimits
  readonly #load: SharpLoader
  #sharp: Promise<SharpFactory> | undefined

  constructor(limits: MediaLimits, load: SharpLoader = loadSharp) {
    this.#limits = limits
    this.#load = load
  }

  /**
   * INVALID_ARGUMENT for an image that cannot be decoded or is larger than the limits, UNAVAILABLE
   * where sharp is not installed. As with the processors that models come with, an image is turned
   * upright by its EXIF orientation, only the first frame of an animation counts, transparent parts
   * show the colour that is stored for them, and a colour profile is not heeded.
   */
  async preprocess(bytes: Uint8Array, recipe: ImageRecipe): Promise<ImageTensor> {
    const open = await this.#opener()
    try {
      const options = {
        limitInputPixels: this.#limits.imagePixelsMax,
        failOn: 'error',
        sequentialRead: true,
        ignoreIcc: true,
      } as const
      const source = open(bytes, options)
      const { autoOrient, hasAlpha } = await source.metadata()
      const { width, height } = autoOrient
      this.#checkSize({ width, height })
      const upright = source.timeout({ seconds: DECODE_SECONDS_MAX }).autoOrient()
      const opaque = hasAlpha ? await withoutAlpha(upright, open, options) : upright
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

  #checkSize({ width, height }: PixelSize): void {
    const { imageEdgePixelsMax, imagePixelsMax } = this.#limits
    const longest = Math.max(width, height)
    if (longest > imageEdgePixelsMax) throw refuse(`an edge is over ${imageEdgePixelsMax} pixels`)
    if (width * height > imagePixelsMax) throw refuse(`it has over ${imagePixelsMax} pixels`)
    if (longest > Math.min(width, height) * ASPECT_RATIO_MAX) {
      throw refuse(`one edge is over ${ASPECT_RATIO_MAX} times the other`)
    }
  }
}

/** Loaded with the first image: a server of texts runs where sharp has no binary. */
async function loadSharp(): Promise<SharpFactory> {
  const { default: sharp } = await import('sharp')
  sharp.cache(false) // every image comes once
  return sharp
}

/**
 * Resizing weighs colours by their opacity, and what is transparent would turn black: so the alpha
 * channel goes first, in a pass of its own that has all pixels in memory.
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
    // Exactly as models were trained: no decoding at half the size, which changes the pixels.
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
      // The longer edge is cut to a whole pixel, not rounded, as the Transformers library does.
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

/** The part of the resized image that the centred crop shows. */
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

/** A byte has 256 values, so each channel is looked up in a table. */
function normalisePixels(bytes: Uint8Array, { visible, crop, recipe }: PixelLayout): Float32Array {
  const plane = crop.width * crop.height
  const data = new Float32Array(CHANNELS * plane)
  // Where the black border is odd, its larger half comes first, as in the Transformers library.
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
