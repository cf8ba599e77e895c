// Reads a model's image steps from preprocessor_config.json, as the Transformers library writes it
// for the CLIP and SigLIP families. Pure.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'

/** The size of an image in pixels. */
export interface PixelSize {
  readonly width: number
  readonly height: number
}

/** How an image is resized: not at all, by its shortest edge, or to an exact size. */
export type ResizeTarget =
  | { readonly kind: 'none' }
  | { readonly kind: 'shortest-edge'; readonly edge: number }
  | { readonly kind: 'exact'; readonly size: PixelSize }

/** The interpolation of a resize, by its name in sharp. */
export type ResizeKernel = 'nearest' | 'linear' | 'cubic' | 'lanczos3'

/** The steps from an image to numbers, in this order: resize, crop, rescale, normalise. */
export interface ImageRecipe {
  readonly resize: ResizeTarget
  readonly kernel: ResizeKernel
  /** Undefined: no crop. A crop larger than the image adds a black border. */
  readonly centreCrop: PixelSize | undefined
  /** Each byte is multiplied by this; 1 changes nothing. */
  readonly rescaleFactor: number
  /** For red, green and blue, after rescaling: (value - mean) / deviation. */
  readonly mean: readonly number[]
  readonly deviation: readonly number[]
}

/** The values of CLIP models, for fields that a configuration leaves out. */
const CLIP = {
  edge: 224,
  mean: [0.48145466, 0.4578275, 0.40821073],
  deviation: [0.26862954, 0.26130258, 0.27577711],
} as const
/**
 * These processors read a plain number as the edge of a square; CLIP's reads it as the shortest
 * edge.
 */
const SQUARE_PROCESSORS = /^(?:ViT|DeiT|Beit|Siglip|Blip)/
const RESCALE_FACTOR = 1 / 255
const EDGE_MAX = 4096

/** The numbers of `resample` are those of PIL. */
const KERNELS: Readonly<Record<number, ResizeKernel>> = {
  0: 'nearest',
  1: 'lanczos3',
  2: 'linear',
  3: 'cubic',
}

/**
 * Builds a recipe from the parsed file; undefined where the model has none. Throws INVALID_ARGUMENT
 * with the name of a field that has a bad value.
 */
export function parseImageRecipe(config: unknown): ImageRecipe {
  const fields: JsonRecord = isJsonRecord(config) ? config : {}
  const wants = (step: string): boolean => fields[step] !== false
  return {
    resize: wants('do_resize') ? parseResize(fields) : { kind: 'none' },
    kernel: parseKernel(fields['resample']),
    centreCrop: cropOf(fields),
    rescaleFactor: wants('do_rescale') ? parseFactor(fields['rescale_factor']) : 1,
    mean: wants('do_normalize') ? parseChannels('image_mean', fields, CLIP.mean) : [0, 0, 0],
    deviation: wants('do_normalize')
      ? parseChannels('image_std', fields, CLIP.deviation)
      : [1, 1, 1],
  }
}

/** The size of the images that a recipe makes; undefined when it depends on the image. */
export function outputSize({ resize, centreCrop }: ImageRecipe): PixelSize | undefined {
  return centreCrop ?? (resize.kind === 'exact' ? resize.size : undefined)
}

function parseResize(fields: JsonRecord): ResizeTarget {
  const { size } = fields
  if (size === undefined) return { kind: 'shortest-edge', edge: CLIP.edge }
  if (typeof size === 'number') {
    const edge = parseEdge('size', size)
    const type = fields['image_processor_type'] ?? fields['feature_extractor_type']
    const isSquare = typeof type === 'string' && SQUARE_PROCESSORS.test(type)
    return isSquare
      ? { kind: 'exact', size: { width: edge, height: edge } }
      : { kind: 'shortest-edge', edge }
  }
  if (!isJsonRecord(size)) throw invalid('size', 'a number or an object')
  const { shortest_edge: edge } = size
  if (edge !== undefined) {
    return { kind: 'shortest-edge', edge: parseEdge('size.shortest_edge', edge) }
  }
  return { kind: 'exact', size: parseSize('size', size) }
}

/** SigLIP models leave the crop out and use none. */
function cropOf(fields: JsonRecord): PixelSize | undefined {
  const { do_center_crop: wanted, crop_size: size } = fields
  if (wanted === false) return undefined
  if (size === undefined) {
    const isDefault = wanted === true || fields['size'] === undefined
    return isDefault ? { width: CLIP.edge, height: CLIP.edge } : undefined
  }
  if (typeof size === 'number') {
    const edge = parseEdge('crop_size', size)
    return { width: edge, height: edge }
  }
  if (!isJsonRecord(size)) throw invalid('crop_size', 'a number or an object')
  return parseSize('crop_size', size)
}

function parseSize(name: string, size: JsonRecord): PixelSize {
  return {
    width: parseEdge(`${name}.width`, size['width']),
    height: parseEdge(`${name}.height`, size['height']),
  }
}

function parseEdge(name: string, value: unknown): number {
  const isEdge = typeof value === 'number' && Number.isInteger(value)
  if (isEdge && value >= 1 && value <= EDGE_MAX) return value
  throw invalid(name, `an integer from 1 to ${EDGE_MAX}`)
}

function parseKernel(resample: unknown): ResizeKernel {
  if (resample === undefined || resample === null) return 'cubic'
  const kernel = typeof resample === 'number' ? KERNELS[resample] : undefined
  if (kernel === undefined) throw invalid('resample', '0, 1, 2 or 3')
  return kernel
}

function parseFactor(value: unknown): number {
  if (value === undefined) return RESCALE_FACTOR
  if (typeof value === 'number' && value > 0) return value
  throw invalid('rescale_factor', 'a number above 0')
}

function parseChannels(
  name: string,
  fields: JsonRecord,
  fallback: readonly number[],
): readonly number[] {
  const value = fields[name]
  if (value === undefined) return fallback
  const values: unknown[] = Array.isArray(value) ? value : []
  const numbers = values.filter((entry) => typeof entry === 'number')
  const isDivisor = name === 'image_std'
  if (numbers.length === 3 && values.length === 3 && !(isDivisor && numbers.includes(0))) {
    return numbers
  }
  throw invalid(name, isDivisor ? 'three numbers other than 0' : 'three numbers')
}

function invalid(name: string, wanted: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `preprocessor_config.json: ${name} must be ${wanted}`)
}
