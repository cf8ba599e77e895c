// Tiny graphs whose answers can be computed by hand. The known answers of the tests follow from the
// formula above each.

import {
  float32,
  int64,
  node,
  ONNX_TYPE,
  valueInfo,
  writeOnnxModel,
} from '../onnx/onnx-graph-writer.ts'
import type { GraphNode, Initializer, ValueInfo } from '../onnx/onnx-graph-writer.ts'

export const VOCABULARY_SIZE = 18
export const HIDDEN_SIZE = 4

type Size = number | string

/** A number fixes how many rows a graph takes, or how many tokens each has. */
export interface FixedSizes {
  readonly batch?: Size
  readonly length?: Size
}

function idsAndMask(batch: Size = 'b', length: Size = 's'): ValueInfo[] {
  return ['input_ids', 'attention_mask'].map((name) => valueInfo(name, 'int64', [batch, length]))
}

export const IDS_AND_MASK = idsAndMask()

export interface EmbedderShape extends FixedSizes {
  /** Beside input_ids, which every embedder takes. */
  readonly inputs?: readonly ('attention_mask' | 'token_type_ids' | 'position_ids')[]
  readonly integers?: 'int64' | 'int32'
  readonly output?: 'last_hidden_state' | 'sentence_embedding' | 'token_embeddings'
  readonly floats?: 'float32' | 'float16'
  /** What the table's rows are multiplied with: two models that answer differently, or zeros. */
  readonly scale?: number
  readonly vocabulary?: number
  /** Products of two matrices of 1000 rows that a run computes beside its answer: tens of ms each. */
  readonly products?: number
  /** Whether states are quantized by the largest number of all rows, as 8-bit exports do. */
  readonly quantizes?: boolean
  /** How often the four numbers of a state stand in it. */
  readonly repeats?: number
}

/** hidden(v) = [v, 1, -v, v*v/4] for each token id v, times `scale`. */
export function embedderGraph(shape: EmbedderShape = {}): Uint8Array {
  const { inputs, integers, output, floats, batch, length, products, repeats, quantizes } = {
    ...PLAIN_EMBEDDER,
    ...shape,
  }
  const isPooled = output === 'sentence_embedding'
  const part = withIdleWork(isPooled ? POOLED_STATES : TOKEN_STATES, products)
  const { nodes, answer } = quantizes ? withQuantizing(part) : part
  const size = HIDDEN_SIZE * repeats
  const dims = isPooled ? [batch, size] : [batch, length, size]
  return writeOnnxModel({
    nodes: [...nodes, node('Cast', [answer], [output], { to: ONNX_TYPE[floats] })],
    initializers: [
      int64('square', [2], [1000, 1000]),
      float32('zero', [], [0]),
      stateTable({ ...PLAIN_EMBEDDER, ...shape }),
    ],
    inputs: ['input_ids', ...inputs].map((name) => valueInfo(name, integers, [batch, length])),
    outputs: [valueInfo(output, floats, dims)],
  })
}

const PLAIN_EMBEDDER: Required<EmbedderShape> = {
  inputs: ['attention_mask'],
  integers: 'int64',
  output: 'last_hidden_state',
  floats: 'float32',
  scale: 1,
  vocabulary: VOCABULARY_SIZE,
  batch: 'b',
  length: 's',
  products: 0,
  repeats: 1,
  quantizes: false,
}

interface Part {
  readonly nodes: readonly GraphNode[]
  readonly answer: string
}

const TOKEN_STATES: Part = {
  nodes: [node('Gather', ['table', 'input_ids'], ['hidden'], { axis: 0 })],
  answer: 'hidden',
}

const POOLED_STATES: Part = {
  nodes: [
    ...TOKEN_STATES.nodes,
    node('ReduceMax', ['hidden'], ['largest'], { axes: [1], keepdims: 0 }),
  ],
  answer: 'largest',
}

/** The rows of hidden(v), under the name `table`. */
export function stateTable({ vocabulary, scale, repeats } = PLAIN_EMBEDDER): Initializer {
  const rows = Array.from({ length: vocabulary }, (_, v) => [v, 1, -v, (v * v) / 4])
  const wide = rows.flatMap((row) => Array.from({ length: repeats }, () => row).flat())
  const values = wide.map((x) => x * scale)
  return float32('table', [vocabulary, HIDDEN_SIZE * repeats], values)
}

function withQuantizing({ nodes, answer }: Part): Part {
  const quantized = ['bytes', 'scale_of_all', 'zero_of_all']
  const steps = [
    node('DynamicQuantizeLinear', [answer], quantized),
    node('DequantizeLinear', quantized, ['rounded']),
  ]
  return { nodes: [...nodes, ...steps], answer: 'rounded' }
}

/** Takes time and adds 0, made from the ids, so that no optimizer can do it beforehand. */
function withIdleWork(part: Part, products: number): Part {
  if (products === 0) return part
  const matrices = Array.from({ length: products }, (_, i) =>
    node('MatMul', [`matrix_${i}`, 'matrix_0'], [`matrix_${i + 1}`]),
  )
  const nodes = [
    ...part.nodes,
    node('Cast', ['input_ids'], ['id_floats'], { to: ONNX_TYPE.float32 }),
    node('ReduceMax', ['id_floats'], ['id_max'], { keepdims: 0 }),
    node('Mul', ['id_max', 'zero'], ['none']),
    node('Expand', ['none', 'square'], ['matrix_0']),
    ...matrices,
    node('ReduceMax', [`matrix_${products}`], ['nothing'], { keepdims: 0 }),
    node('Add', [part.answer, 'nothing'], ['late_answer']),
  ]
  return { nodes, answer: 'late_answer' }
}

/** logit = sum(ids * types * mask) / 10 - 1; with two labels the other logit is 0. */
export function crossEncoderGraph(shape: CrossEncoderShape = {}): Uint8Array {
  const { labels = 1, constant, length = 's' } = shape
  const nodes = [
    node('Mul', ['input_ids', 'token_type_ids'], ['typed']),
    node('Mul', ['typed', 'attention_mask'], ['masked']),
    node('Cast', ['masked'], ['floats'], { to: ONNX_TYPE.float32 }),
    node('ReduceSum', ['floats', 'axis1'], ['sum'], { keepdims: 1 }),
    node('Mul', ['sum', 'factor'], ['scaled']),
    node('Sub', ['scaled', 'offset'], ['logit']),
    ...(labels === 1
      ? [node('Identity', ['logit'], ['logits'])]
      : [
          node('Mul', ['logit', 'zero'], ['other']),
          node('Concat', ['other', 'logit'], ['logits'], { axis: 1 }),
        ]),
  ]
  return writeOnnxModel({
    nodes,
    initializers: [
      int64('axis1', [1], [1]),
      float32('factor', [], [constant === undefined ? 0.1 : 0]),
      float32('offset', [], [constant === undefined ? 1 : -constant]),
      float32('zero', [], [0]),
    ],
    inputs: [...idsAndMask('b', length), valueInfo('token_type_ids', 'int64', ['b', length])],
    outputs: [valueInfo('logits', 'float32', ['b', labels])],
  })
}

export interface CrossEncoderShape {
  readonly labels?: 1 | 2
  /** A graph that answers this logit for everything: tells which file was loaded. */
  readonly constant?: number
  /** Fixes the number of tokens. */
  readonly length?: number
}

/**
 * logits(v)[label] = 4 where `labelOf` maps the id v to the label, 4 at label 0 for every other id,
 * 0 elsewhere. Serves named entities and the separators of a chunker.
 */
export function tokenClassifierGraph(
  labelCount: number,
  labelOf: Readonly<Record<number, number>>,
  { batch = 'b', length = 's' }: FixedSizes = {},
): Uint8Array {
  const table = new Float32Array(VOCABULARY_SIZE * labelCount)
  for (let v = 0; v < VOCABULARY_SIZE; v++) table[v * labelCount + (labelOf[v] ?? 0)] = 4
  return writeOnnxModel({
    nodes: [node('Gather', ['table', 'input_ids'], ['logits'], { axis: 0 })],
    initializers: [float32('table', [VOCABULARY_SIZE, labelCount], table)],
    inputs: idsAndMask(batch, length),
    outputs: [valueInfo('logits', 'float32', [batch, length, labelCount])],
  })
}

/** A graph that loads and fails at every run: it reshapes its ids into a shape they never have. */
export function failingGraph(output = 'logits'): Uint8Array {
  return writeOnnxModel({
    nodes: [
      node('Reshape', ['input_ids', 'shape'], ['never']),
      node('Cast', ['never'], [output], { to: ONNX_TYPE.float32 }),
    ],
    initializers: [int64('shape', [2], [1_000_003, 7])],
    inputs: IDS_AND_MASK,
    outputs: [valueInfo(output, 'float32', [1_000_003, 7])],
  })
}

/**
 * One step with a key-value cache of one head of size 1 that stores token ids:
 * next = (sum of all tokens) mod vocabulary, the same at each position of `input_ids`.
 */
export function decoderGraph(vocabulary = VOCABULARY_SIZE): Uint8Array {
  const past = ['key', 'value'].map((part) =>
    valueInfo(`past_key_values.0.${part}`, 'float32', ['b', 1, 'p', 1]),
  )
  const present = ['key', 'value'].map((part) =>
    valueInfo(`present.0.${part}`, 'float32', ['b', 1, 't', 1]),
  )
  return writeOnnxModel({
    nodes: [
      ...idsAsCacheEntries(),
      node('Concat', ['past_key_values.0.key', 'entries'], ['present.0.key'], { axis: 2 }),
      node('Concat', ['past_key_values.0.value', 'entries'], ['present.0.value'], { axis: 2 }),
      node('ReduceSum', ['present.0.key', 'axes123'], ['sum'], { keepdims: 0 }),
      ...oneHotOfSum('next'),
      node('Shape', ['input_ids'], ['ids_shape']),
      node('Gather', ['ids_shape', 'one'], ['length']),
      node('Unsqueeze', ['length', 'axis0'], ['lengths']),
      node('Concat', ['ones', 'lengths', 'ones'], ['logits_shape'], { axis: 0 }),
      node('Expand', ['next', 'logits_shape'], ['logits']),
    ],
    initializers: [
      ...oneHotConstants(vocabulary),
      int64('one', [], [1]),
      int64('ones', [1], [1]),
      int64('axis0', [1], [0]),
    ],
    inputs: [
      valueInfo('input_ids', 'int64', ['b', 's']),
      valueInfo('attention_mask', 'int64', ['b', 't']),
      ...past,
    ],
    outputs: [valueInfo('logits', 'float32', ['b', 's', vocabulary]), ...present],
  })
}

/**
 * A decoder that writes what it is told: behind n tokens comes `script[n]`. Its cache, of one head of
 * size 1, only counts the tokens.
 */
export function scriptedDecoderGraph(script: readonly number[], vocabulary: number): Uint8Array {
  const cache = ['past_key_values.0.key', 'present.0.key'] as const
  return writeOnnxModel({
    nodes: [
      ...idsAsCacheEntries(),
      node('Concat', [cache[0], 'entries'], [cache[1]], { axis: 2 }),
      node('Shape', [cache[1]], ['shape']),
      node('Gather', ['shape', 'two'], ['total']),
      node('Gather', ['script', 'total'], ['index']),
      node('OneHot', ['index', 'depth', 'off_on'], ['hot'], { axis: -1 }),
      node('Unsqueeze', ['hot', 'axis0'], ['logits']),
    ],
    initializers: [
      ...oneHotConstants(vocabulary),
      int64('two', [1], [2]),
      int64('axis0', [1], [0]),
      int64('script', [script.length], script),
    ],
    inputs: [
      valueInfo('input_ids', 'int64', ['b', 's']),
      valueInfo(cache[0], 'float32', ['b', 1, 'p', 1]),
    ],
    outputs: [
      valueInfo('logits', 'float32', [1, 1, vocabulary]),
      valueInfo(cache[1], 'float32', ['b', 1, 't', 1]),
    ],
  })
}

/** The encoder of the rewriter: last_hidden_state = ids as floats, [b, s, 1]. */
export function encoderGraph(length: Size = 's'): Uint8Array {
  return writeOnnxModel({
    nodes: [
      node('Cast', ['input_ids'], ['floats'], { to: ONNX_TYPE.float32 }),
      node('Unsqueeze', ['floats', 'axis2'], ['last_hidden_state']),
    ],
    initializers: [int64('axis2', [1], [2])],
    inputs: idsAndMask('b', length),
    outputs: [valueInfo('last_hidden_state', 'float32', ['b', length, 1])],
  })
}

/**
 * The rewriter's decoder: next = (sum of encoder ids + sum of decoder ids) mod vocabulary. The first
 * step sums the encoder's states and keeps the sum as present.0.encoder.key; later steps are fed it.
 */
export function seq2seqDecoderGraph(step: 'first' | 'later', vocabulary = 12): Uint8Array {
  const later = step === 'later'
  const shared = [
    node('ReduceSum', ['present.0.decoder.key', 'axes123'], ['decoder_sum'], { keepdims: 0 }),
    node('ReduceSum', ['encoder_key', 'axes123'], ['encoder_sum'], { keepdims: 0 }),
    node('Add', ['decoder_sum', 'encoder_sum'], ['sum']),
    ...oneHotOfSum('logits'),
  ]
  const inputs: ValueInfo[] = [valueInfo('input_ids', 'int64', ['b', 's'])]
  if (later) {
    inputs.push(
      valueInfo('past_key_values.0.decoder.key', 'float32', ['b', 1, 'p', 1]),
      valueInfo('past_key_values.0.encoder.key', 'float32', ['b', 1, 1, 1]),
    )
  } else {
    inputs.push(
      valueInfo('encoder_hidden_states', 'float32', ['b', 'e', 1]),
      valueInfo('encoder_attention_mask', 'int64', ['b', 'e']),
    )
  }
  const outputs = [
    valueInfo('logits', 'float32', ['b', 1, vocabulary]),
    valueInfo('present.0.decoder.key', 'float32', ['b', 1, 't', 1]),
  ]
  if (!later) outputs.push(valueInfo('present.0.encoder.key', 'float32', ['b', 1, 1, 1]))
  return writeOnnxModel({
    nodes: [...idsAsCacheEntries(), ...(later ? laterStepKeys() : firstStepKeys()), ...shared],
    initializers: [
      ...oneHotConstants(vocabulary),
      int64('axes12', [2], [1, 2]),
      int64('key_shape', [4], [-1, 1, 1, 1]),
    ],
    inputs,
    outputs,
  })
}

/**
 * Both steps of the rewriter's decoder in one graph, as exporters merge them: without
 * `use_cache_branch` the caches are not looked at; with it, the states are not, and the encoder's
 * cache is answered empty.
 */
export function mergedDecoderGraph(vocabulary = 12): Uint8Array {
  return writeOnnxModel({
    nodes: [
      ...idsAsCacheEntries(),
      node('Cast', ['use_cache_branch'], ['branch'], { to: ONNX_TYPE.int64 }),
      node('Shape', ['past_key_values.0.decoder.key'], ['past_shape']),
      node('Gather', ['past_shape', 'index2'], ['past_length']),
      node('Mul', ['past_length', 'branch'], ['used_length']),
      node('Slice', ['past_key_values.0.decoder.key', 'from0', 'used_length', 'axis2'], ['used']),
      node('Concat', ['used', 'entries'], ['present.0.decoder.key'], { axis: 2 }),
      node('ReduceSum', ['encoder_hidden_states', 'axes12'], ['states'], { keepdims: 0 }),
      node('Reshape', ['states', 'key_shape'], ['state_key']),
      node('Sub', ['from1', 'branch'], ['first_only']),
      node('Slice', ['state_key', 'from0', 'first_only', 'axis2'], ['present.0.encoder.key']),
      node('Concat', ['present.0.encoder.key', 'past_key_values.0.encoder.key'], ['keys'], {
        axis: 2,
      }),
      node('ReduceSum', ['present.0.decoder.key', 'axes123'], ['decoder_sum'], { keepdims: 0 }),
      node('ReduceSum', ['keys', 'axes123'], ['encoder_sum'], { keepdims: 0 }),
      node('Add', ['decoder_sum', 'encoder_sum'], ['sum']),
      ...oneHotOfSum('logits'),
    ],
    initializers: [
      ...oneHotConstants(vocabulary),
      int64('axes12', [2], [1, 2]),
      int64('key_shape', [4], [-1, 1, 1, 1]),
      int64('index2', [1], [2]),
      int64('from0', [1], [0]),
      int64('from1', [1], [1]),
      int64('axis2', [1], [2]),
    ],
    inputs: [
      valueInfo('input_ids', 'int64', ['b', 's']),
      valueInfo('encoder_hidden_states', 'float32', ['b', 'e', 1]),
      valueInfo('encoder_attention_mask', 'int64', ['b', 'e']),
      valueInfo('use_cache_branch', 'bool', [1]),
      valueInfo('past_key_values.0.decoder.key', 'float32', ['b', 1, 'p', 1]),
      valueInfo('past_key_values.0.encoder.key', 'float32', ['b', 1, 'e', 1]),
    ],
    outputs: [
      valueInfo('logits', 'float32', ['b', 1, vocabulary]),
      valueInfo('present.0.decoder.key', 'float32', ['b', 1, 't', 1]),
      valueInfo('present.0.encoder.key', 'float32', ['b', 1, 'f', 1]),
    ],
  })
}

function firstStepKeys(): GraphNode[] {
  return [
    node('Identity', ['entries'], ['present.0.decoder.key']),
    node('ReduceSum', ['encoder_hidden_states', 'axes12'], ['states'], { keepdims: 0 }),
    node('Reshape', ['states', 'key_shape'], ['present.0.encoder.key']),
    node('Identity', ['present.0.encoder.key'], ['encoder_key']),
  ]
}

function laterStepKeys(): GraphNode[] {
  const cache = ['past_key_values.0.decoder.key', 'entries']
  return [
    node('Concat', cache, ['present.0.decoder.key'], { axis: 2 }),
    node('Identity', ['past_key_values.0.encoder.key'], ['encoder_key']),
  ]
}

/** [b, s] ids → [b, 1, s, 1] floats. */
function idsAsCacheEntries(): GraphNode[] {
  return [
    node('Cast', ['input_ids'], ['floats'], { to: ONNX_TYPE.float32 }),
    node('Unsqueeze', ['floats', 'axes13'], ['entries']),
  ]
}

/** [b] sums → [b, 1, vocabulary], 10 at (sum mod vocabulary). */
function oneHotOfSum(output: string): GraphNode[] {
  return [
    node('Mod', ['sum', 'modulus'], ['rest'], { fmod: 1 }),
    node('Cast', ['rest'], ['index'], { to: ONNX_TYPE.int64 }),
    node('OneHot', ['index', 'depth', 'off_on'], ['hot'], { axis: -1 }),
    node('Unsqueeze', ['hot', 'axis1'], [output]),
  ]
}

function oneHotConstants(vocabulary: number): Initializer[] {
  return [
    int64('axes13', [2], [1, 3]),
    int64('axes123', [3], [1, 2, 3]),
    int64('axis1', [1], [1]),
    float32('modulus', [], [vocabulary]),
    int64('depth', [], [vocabulary]),
    float32('off_on', [2], [0, 10]),
  ]
}

export const GLINER_ENTITY_ID = 20
export const GLINER_WIDTH = 3

/**
 * logits[b, start, k, c] = 4 - 8*|start - 2c| - 3*|(end - start) - (c mod 2)|, [b, W, 3, C], where C
 * is how often the entity token stands in the prompt.
 */
export function glinerSpanGraph({ batch = 'b', length = 's' }: FixedSizes = {}): Uint8Array {
  return writeOnnxModel({
    nodes: [
      node('Equal', ['input_ids', 'entity'], ['is_entity']),
      node('Cast', ['is_entity'], ['entity_flags'], { to: ONNX_TYPE.int64 }),
      node('ReduceSum', ['entity_flags', 'axis1'], ['counts'], { keepdims: 0 }),
      node('ReduceMax', ['counts'], ['count'], { keepdims: 0 }),
      node('Range', ['zero', 'count', 'one'], ['classes']),
      node('Cast', ['classes'], ['class_floats'], { to: ONNX_TYPE.float32 }),
      node('Split', ['span_idx', 'halves'], ['starts', 'ends'], { axis: 2 }),
      node('Cast', ['starts'], ['start_floats'], { to: ONNX_TYPE.float32 }),
      node('Cast', ['ends'], ['end_floats'], { to: ONNX_TYPE.float32 }),
      node('Mul', ['class_floats', 'f2'], ['wanted_start']),
      node('Sub', ['start_floats', 'wanted_start'], ['start_error']),
      node('Abs', ['start_error'], ['start_distance']),
      node('Mul', ['start_distance', 'f8'], ['start_cost']),
      node('Mod', ['classes', 'two'], ['wanted_width']),
      node('Cast', ['wanted_width'], ['wanted_width_floats'], { to: ONNX_TYPE.float32 }),
      node('Sub', ['end_floats', 'start_floats'], ['width']),
      node('Sub', ['width', 'wanted_width_floats'], ['width_error']),
      node('Abs', ['width_error'], ['width_distance']),
      node('Mul', ['width_distance', 'f3'], ['width_cost']),
      node('Sub', ['f4', 'start_cost'], ['partial']),
      node('Sub', ['partial', 'width_cost'], ['flat']),
      node('Unsqueeze', ['count', 'axis0'], ['count_dim']),
      node('Concat', ['leading_dims', 'count_dim'], ['shape'], { axis: 0 }),
      node('Reshape', ['flat', 'shape'], ['logits']),
    ],
    initializers: [
      int64('entity', [], [GLINER_ENTITY_ID]),
      int64('axis0', [1], [0]),
      int64('axis1', [1], [1]),
      int64('zero', [], [0]),
      int64('one', [], [1]),
      int64('two', [], [2]),
      int64('halves', [2], [1, 1]),
      int64('leading_dims', [3], [0, -1, GLINER_WIDTH]),
      float32('f2', [], [2]),
      float32('f3', [], [3]),
      float32('f4', [], [4]),
      float32('f8', [], [8]),
    ],
    inputs: [
      ...idsAndMask(batch, length),
      valueInfo('words_mask', 'int64', [batch, length]),
      valueInfo('text_lengths', 'int64', ['b', 1]),
      valueInfo('span_idx', 'int64', ['b', 'n', 2]),
      valueInfo('span_mask', 'bool', ['b', 'n']),
    ],
    outputs: [valueInfo('logits', 'float32', ['b', 'w', 'k', 'c'])],
  })
}
