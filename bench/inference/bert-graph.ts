// Graphs of real shapes with random weights: how fast a graph runs does not depend on what it knows.

import {
  float32,
  int64,
  int8,
  node,
  ONNX_TYPE,
  valueInfo,
  writeOnnxModel,
} from '../../test/support/onnx/onnx-graph-writer.ts'
import type { GraphNode, Initializer } from '../../test/support/onnx/onnx-graph-writer.ts'
import type { Random } from '../../lib/random.ts'

export interface BertShape {
  readonly layers: number
  readonly hidden: number
  readonly heads: number
  readonly feedForward: number
  readonly vocabulary: number
  readonly positions: number
}

/** Of all-MiniLM-L6-v2. */
export const MINILM_L6: BertShape = {
  layers: 6,
  hidden: 384,
  heads: 12,
  feedForward: 1536,
  vocabulary: 30_522,
  positions: 512,
}

/** `i8`: matrices and the token table in signed bytes, activations quantised while it runs. */
export type WeightFormat = 'f32' | 'i8'

const WEIGHT_MAX = 0.04
const INT8_MAX = 127
const EPSILON = 1e-12

/** BERT's encoder, with the three usual inputs and `last_hidden_state`. */
export function writeBertGraph(
  shape: BertShape,
  weights: WeightFormat,
  random: Random,
): Uint8Array {
  const writer = new BertWriter(shape, weights, random)
  writer.embeddings()
  for (let layer = 0; layer < shape.layers; layer += 1) writer.layer(layer)
  return writeOnnxModel({
    nodes: [...writer.nodes, node('Identity', [`h${shape.layers}`], ['last_hidden_state'])],
    initializers: writer.initializers,
    inputs: ['input_ids', 'attention_mask', 'token_type_ids'].map((name) =>
      valueInfo(name, 'int64', ['batch', 'sequence']),
    ),
    outputs: [valueInfo('last_hidden_state', 'float32', ['batch', 'sequence', shape.hidden])],
  })
}

class BertWriter {
  readonly nodes: GraphNode[] = []
  readonly initializers: Initializer[] = []
  readonly #shape: BertShape
  readonly #weights: WeightFormat
  readonly #random: Random

  constructor(shape: BertShape, weights: WeightFormat, random: Random) {
    this.#shape = shape
    this.#weights = weights
    this.#random = random
    const headSize = shape.hidden / shape.heads
    this.initializers.push(
      int64('axes12', [2], [1, 2]),
      int64('index1', [], [1]),
      int64('zero', [], [0]),
      int64('by_head', [4], [0, 0, shape.heads, headSize]),
      int64('joined', [3], [0, 0, shape.hidden]),
      float32('scale', [], [1 / Math.sqrt(headSize)]),
      float32('one', [], [1]),
      float32('half', [], [0.5]),
      float32('sqrt_half', [], [Math.SQRT1_2]),
      float32('masked', [], [-10_000]),
    )
    if (weights === 'f32') return
    this.initializers.push(
      float32('weight_scale', [], [WEIGHT_MAX / INT8_MAX]),
      int8('weight_zero', [], Int8Array.of(0)),
    )
  }

  /** Makes `h0`, and `bias`, which keeps attention from padding. */
  embeddings(): void {
    const { vocabulary, hidden, positions } = this.#shape
    this.#add('Gather', [this.#table('words', [vocabulary, hidden]), 'input_ids'], 'word_rows')
    if (this.#weights === 'i8') {
      this.#add('DequantizeLinear', ['word_rows', 'weight_scale', 'weight_zero'], 'word_vectors')
    } else {
      this.#add('Identity', ['word_rows'], 'word_vectors')
    }
    this.#floats('types', [2, hidden])
    this.#floats('positions', [positions, hidden])
    this.#add('Gather', ['types', 'token_type_ids'], 'type_vectors')
    this.#add('Shape', ['input_ids'], 'ids_shape')
    this.#add('Gather', ['ids_shape', 'index1'], 'length')
    this.#add('Range', ['zero', 'length', 'index1'], 'places')
    this.#add('Gather', ['positions', 'places'], 'place_vectors')
    this.#add('Add', ['word_vectors', 'type_vectors'], 'typed')
    this.#add('Add', ['typed', 'place_vectors'], 'embedded')
    this.#norm('embedded', 'h0')
    this.#add('Cast', ['attention_mask'], 'mask_floats', { to: ONNX_TYPE.float32 })
    this.#add('Unsqueeze', ['mask_floats', 'axes12'], 'mask')
    this.#add('Sub', ['one', 'mask'], 'padding')
    this.#add('Mul', ['padding', 'masked'], 'bias')
  }

  /** From `h<layer>` to `h<layer + 1>`. */
  layer(layer: number): void {
    const [input, p] = [`h${layer}`, `l${layer}_`]
    const { hidden, feedForward } = this.#shape
    this.#attention(input, p)
    this.#dense(`${p}context`, `${p}attended`, [hidden, hidden])
    this.#add('Add', [`${p}attended`, input], `${p}attention_sum`)
    this.#norm(`${p}attention_sum`, `${p}middle`)
    this.#dense(`${p}middle`, `${p}wide`, [hidden, feedForward])
    this.#gelu(`${p}wide`, `${p}active`)
    this.#dense(`${p}active`, `${p}narrow`, [feedForward, hidden])
    this.#add('Add', [`${p}narrow`, `${p}middle`], `${p}sum`)
    this.#norm(`${p}sum`, `h${layer + 1}`)
  }

  #attention(input: string, p: string): void {
    const { hidden } = this.#shape
    for (const part of ['query', 'key', 'value']) {
      this.#dense(input, `${p}${part}_flat`, [hidden, hidden])
      this.#add('Reshape', [`${p}${part}_flat`, 'by_head'], `${p}${part}_heads`)
      const perm = part === 'key' ? [0, 2, 3, 1] : [0, 2, 1, 3]
      this.#add('Transpose', [`${p}${part}_heads`], `${p}${part}`, { perm })
    }
    this.#add('MatMul', [`${p}query`, `${p}key`], `${p}products`)
    this.#add('Mul', [`${p}products`, 'scale'], `${p}scaled`)
    this.#add('Add', [`${p}scaled`, 'bias'], `${p}biased`)
    this.#add('Softmax', [`${p}biased`], `${p}shares`, { axis: -1 })
    this.#add('MatMul', [`${p}shares`, `${p}value`], `${p}mixed`)
    this.#add('Transpose', [`${p}mixed`], `${p}by_place`, { perm: [0, 2, 1, 3] })
    this.#add('Reshape', [`${p}by_place`, 'joined'], `${p}context`)
  }

  #dense(input: string, output: string, dims: readonly [from: number, to: number]): void {
    const product = `${output}_product`
    const table = this.#table(`${output}_weight`, dims)
    if (this.#weights === 'f32') this.#add('MatMul', [input, table], product)
    else this.#quantisedProduct(input, table, product)
    this.#floats(`${output}_bias`, [dims[1]])
    this.#add('Add', [product, `${output}_bias`], output)
  }

  /** As quantisers of ONNX Runtime write it, so that its fused kernel is found. */
  #quantisedProduct(input: string, table: string, product: string): void {
    const p = `${product}_`
    const quantised = [`${p}bytes`, `${p}scale`, `${p}zero`]
    this.nodes.push(node('DynamicQuantizeLinear', [input], quantised))
    this.#add('MatMulInteger', [`${p}bytes`, table, `${p}zero`, 'weight_zero'], `${p}integers`)
    this.#add('Cast', [`${p}integers`], `${p}floats`, { to: ONNX_TYPE.float32 })
    this.#add('Mul', [`${p}scale`, 'weight_scale'], `${p}scales`)
    this.#add('Mul', [`${p}floats`, `${p}scales`], product)
  }

  /** x · (erf(x / √2) + 1) / 2 */
  #gelu(input: string, output: string): void {
    this.#add('Mul', [input, 'sqrt_half'], `${output}_scaled`)
    this.#add('Erf', [`${output}_scaled`], `${output}_erf`)
    this.#add('Add', [`${output}_erf`, 'one'], `${output}_raised`)
    this.#add('Mul', [input, `${output}_raised`], `${output}_doubled`)
    this.#add('Mul', [`${output}_doubled`, 'half'], output)
  }

  #norm(input: string, output: string): void {
    const { hidden } = this.#shape
    this.initializers.push(
      float32(`${output}_gain`, [hidden], new Float32Array(hidden).fill(1)),
      float32(`${output}_shift`, [hidden], new Float32Array(hidden)),
    )
    const inputs = [input, `${output}_gain`, `${output}_shift`]
    this.#add('LayerNormalization', inputs, output, { axis: -1, epsilon: { float: EPSILON } })
  }

  #add(
    operator: string,
    inputs: readonly string[],
    output: string,
    attributes: GraphNode['attributes'] = {},
  ): void {
    this.nodes.push(node(operator, inputs, [output], attributes))
  }

  #table(name: string, dims: readonly [number, number]): string {
    if (this.#weights === 'f32') return this.#floats(name, dims)
    const values = Int8Array.from({ length: dims[0] * dims[1] }, () =>
      Math.round((this.#random() * 2 - 1) * INT8_MAX),
    )
    this.initializers.push(int8(name, dims, values))
    return name
  }

  #floats(name: string, dims: readonly number[]): string {
    const length = dims.reduce((product, dim) => product * dim, 1)
    const values = Float32Array.from({ length }, () => (this.#random() * 2 - 1) * WEIGHT_MAX)
    this.initializers.push(float32(name, dims, values))
    return name
  }
}
