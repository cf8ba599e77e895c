// Builds a graph's input tensors from token ids, under the names and in the types that it declares.

import { ServiceError } from '../../lib/errors.ts'
import type { GraphSlot, GraphTensor } from './graph-session.ts'

/**
 * The token ids of one row, and the segment (type id) of each token. Both lists have one length.
 */
export interface TokenEncoding {
  readonly ids: readonly number[]
  readonly typeIds: readonly number[]
}

/**
 * How rows of different lengths become one rectangle: which id fills them up, and on which side.
 */
export interface PaddingRule {
  readonly padId: number
  readonly paddingSide: 'left' | 'right'
  /** Rows are padded to at least this many tokens; absent: to the longest row. */
  readonly widthMin?: number
}

/** The numbers of rows and tokens that a graph was exported for; undefined: any number. */
export interface FixedShape {
  readonly rows: number | undefined
  readonly tokens: number | undefined
}

/**
 * Reads the fixed shape from the input `input_ids`. Throws UNAVAILABLE for sizes that are not
 * served.
 */
export function fixedShapeOf(inputs: readonly GraphSlot[]): FixedShape {
  const ids = inputs.find(({ name }) => name === 'input_ids')
  const [rows, tokens] = ids?.dims ?? []
  checkFixed('rows', rows, FIXED_ROWS_MAX)
  checkFixed('tokens', tokens, FIXED_TOKENS_MAX)
  return { rows, tokens }
}

const FIXED_ROWS_MAX = 1_024
const FIXED_TOKENS_MAX = 1_000_000

function checkFixed(what: string, size: number | undefined, most: number): void {
  if (size === undefined || (size >= 1 && size <= most)) return
  const message = `the graph takes batches of ${size} ${what}; from 1 to ${most} are served`
  throw new ServiceError('UNAVAILABLE', message)
}

/**
 * The most tokens that a text may have: the model's limit, or the graph's fixed length if it is
 * less.
 */
export function tokensMaxOf(inputs: readonly GraphSlot[], modelTokensMax: number): number {
  return Math.min(modelTokensMax, fixedShapeOf(inputs).tokens ?? modelTokensMax)
}

/**
 * The number of tokens of each row of a batch, padding included. Throws INFERENCE_FAILED when a row
 * is longer than the graph's fixed length.
 */
export function rowWidth(
  inputs: readonly GraphSlot[],
  encodings: readonly TokenEncoding[],
  { widthMin = 1 }: Pick<PaddingRule, 'widthMin'> = {},
): number {
  const longest = Math.max(widthMin, ...encodings.map(({ ids }) => ids.length))
  const { tokens = longest } = fixedShapeOf(inputs)
  if (longest <= tokens) return tokens
  throw new ServiceError('INFERENCE_FAILED', `the graph takes ${tokens} tokens, not ${longest}`)
}

/**
 * Builds one row for each encoding, padded to the longest row or to the graph's fixed length. It
 * feeds those of `input_ids`, `attention_mask`, `token_type_ids` and `position_ids` that the graph
 * declares, and an empty past where the graph declares one. The caller feeds all other inputs.
 */
export function buildTokenFeeds(
  inputs: readonly GraphSlot[],
  encodings: readonly TokenEncoding[],
  padding: PaddingRule,
): Record<string, GraphTensor> {
  const width = rowWidth(inputs, encodings, padding)
  const feeds: Record<string, GraphTensor> = {}
  for (const slot of inputs) {
    if (slot.name.startsWith(PAST_PREFIX)) feeds[slot.name] = emptyPast(slot, encodings.length)
    const source = SOURCE_BY_INPUT.get(slot.name)
    if (source === undefined) continue
    const values = new Int32Array(encodings.length * width)
    if (slot.name === 'input_ids') values.fill(padding.padId)
    encodings.forEach((encoding, row) => {
      const free = padding.paddingSide === 'left' ? width - encoding.ids.length : 0
      const start = row * width + free
      for (let i = 0; i < encoding.ids.length; i++) values[start + i] = source(encoding, i)
    })
    feeds[slot.name] = integerTensor(slot, [encodings.length, width], values)
  }
  return feeds
}

/** The names of the inputs that `buildTokenFeeds` does not feed. */
export function unfedInputs(inputs: readonly GraphSlot[]): string[] {
  return inputs
    .map(({ name }) => name)
    .filter((name) => !SOURCE_BY_INPUT.has(name) && !name.startsWith(PAST_PREFIX))
}

const PAST_PREFIX = 'past_key_values.'

/** [rows, heads, 0, head size]: a decoder that embeds starts without a past. */
function emptyPast(slot: GraphSlot, rows: number): GraphTensor {
  const [, heads = 1, , size = 1] = slot.dims
  return floatTensor(slot, [rows, heads, 0, size], new Float32Array(0))
}

type Source = (encoding: TokenEncoding, index: number) => number

const SOURCE_BY_INPUT: ReadonlyMap<string, Source> = new Map([
  ['input_ids', ({ ids }: TokenEncoding, i: number) => ids[i] ?? 0],
  ['attention_mask', () => 1],
  ['token_type_ids', ({ typeIds }: TokenEncoding, i: number) => typeIds[i] ?? 0],
  ['position_ids', (_encoding: TokenEncoding, i: number) => i],
])

/**
 * A tensor of the integer type that the slot declares. Throws UNAVAILABLE when it declares another.
 */
export function integerTensor(
  { name, type }: GraphSlot,
  dims: readonly number[],
  values: ArrayLike<number>,
): GraphTensor {
  if (type === 'int64') return { type, dims, data: BigInt64Array.from(values, BigInt) }
  if (type === 'int32') return { type, dims, data: Int32Array.from(values) }
  throw new ServiceError('UNAVAILABLE', `the graph's input ${name} takes ${type}, not integers`)
}

/**
 * A tensor of the float type that the slot declares. Throws UNAVAILABLE when it declares another.
 */
export function floatTensor(
  { name, type }: GraphSlot,
  dims: readonly number[],
  values: Float32Array,
): GraphTensor {
  if (type === 'float32') return { type, dims, data: values }
  if (type === 'float16') {
    return { type, dims, data: new Uint16Array(Float16Array.from(values).buffer) }
  }
  throw new ServiceError('UNAVAILABLE', `the graph's input ${name} takes ${type}, not floats`)
}

/**
 * The numbers of a float tensor as 32-bit floats. Throws INFERENCE_FAILED for a tensor of integers.
 */
export function floatsOf(tensor: GraphTensor): Float32Array {
  if (tensor.type === 'float32') return tensor.data
  if (tensor.type !== 'float16') {
    throw new ServiceError('INFERENCE_FAILED', `the graph answered ${tensor.type}, not floats`)
  }
  const halves = new Float16Array(tensor.data.buffer, tensor.data.byteOffset, tensor.data.length)
  return Float32Array.from(halves)
}
