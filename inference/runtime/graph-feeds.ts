// The tensors that a graph wants to be fed with token ids, in the types and under the names it declares.

import { ServiceError } from '../../lib/errors.ts'
import type { GraphSlot, GraphTensor } from './graph-session.ts'

export interface TokenEncoding {
  readonly ids: readonly number[]
  readonly typeIds: readonly number[]
}

export interface PaddingRule {
  readonly padId: number
  readonly paddingSide: 'left' | 'right'
  /** Rows are padded to so many tokens at least. */
  readonly widthMin?: number
}

/** What a graph was exported for, if not for any: how many rows of how many tokens. */
export interface FixedShape {
  readonly rows: number | undefined
  readonly tokens: number | undefined
}

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

/** How many tokens a text may have: what its model takes, and what the graph is fixed to. */
export function tokensMaxOf(inputs: readonly GraphSlot[], modelTokensMax: number): number {
  return Math.min(modelTokensMax, fixedShapeOf(inputs).tokens ?? modelTokensMax)
}

/** How many tokens each row of a batch has, padding included. */
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
 * One row for each encoding, padded to the longest, or to the length that the graph is fixed to.
 * Feeds those of `input_ids`, `attention_mask`, `token_type_ids` and `position_ids` that the graph
 * declares, and an empty past where it declares one; other inputs are the caller's.
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

/** Inputs of a graph that `buildTokenFeeds` does not feed. */
export function unfedInputs(inputs: readonly GraphSlot[]): string[] {
  return inputs
    .map(({ name }) => name)
    .filter((name) => !SOURCE_BY_INPUT.has(name) && !name.startsWith(PAST_PREFIX))
}

const PAST_PREFIX = 'past_key_values.'

/** [rows, heads, 0, head size]: a decoder that embeds has seen nothing yet. */
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

export function integerTensor(
  { name, type }: GraphSlot,
  dims: readonly number[],
  values: ArrayLike<number>,
): GraphTensor {
  if (type === 'int64') return { type, dims, data: BigInt64Array.from(values, BigInt) }
  if (type === 'int32') return { type, dims, data: Int32Array.from(values) }
  throw new ServiceError('UNAVAILABLE', `the graph's input ${name} takes ${type}, not integers`)
}

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

/** A tensor's numbers, whatever the width of its floats. */
export function floatsOf(tensor: GraphTensor): Float32Array {
  if (tensor.type === 'float32') return tensor.data
  if (tensor.type !== 'float16') {
    throw new ServiceError('INFERENCE_FAILED', `the graph answered ${tensor.type}, not floats`)
  }
  const halves = new Float16Array(tensor.data.buffer, tensor.data.byteOffset, tensor.data.length)
  return Float32Array.from(halves)
}
