// The graphs of a model of texts and images, whose answers can be computed by hand.

import {
  float32,
  int64,
  node,
  ONNX_TYPE,
  valueInfo,
  writeOnnxModel,
} from '../onnx/onnx-graph-writer.ts'
import { HIDDEN_SIZE, IDS_AND_MASK, stateTable } from './model-graphs.ts'

const PIXELS = valueInfo('pixel_values', 'float32', ['n', 3, 'h', 'w'])

/**
 * A tower of texts with both outputs that exporters give it: last_hidden_state as an embedder has it,
 * and pooler_output, the largest number of each column where the mask is 1.
 */
export function textTowerGraph(): Uint8Array {
  return writeOnnxModel({
    nodes: [
      node('Gather', ['table', 'input_ids'], ['last_hidden_state'], { axis: 0 }),
      node('Sub', ['attention_mask', 'one'], ['padding']),
      node('Cast', ['padding'], ['padding_floats'], { to: ONNX_TYPE.float32 }),
      node('Mul', ['padding_floats', 'million'], ['penalties']),
      node('Unsqueeze', ['penalties', 'axis2'], ['token_penalties']),
      node('Add', ['last_hidden_state', 'token_penalties'], ['own_states']),
      node('ReduceMax', ['own_states'], ['pooler_output'], { axes: [1], keepdims: 0 }),
    ],
    initializers: [
      stateTable(),
      int64('one', [], [1]),
      int64('axis2', [1], [2]),
      float32('million', [], [1e6]),
    ],
    inputs: IDS_AND_MASK,
    outputs: [
      valueInfo('last_hidden_state', 'float32', ['b', 's', HIDDEN_SIZE]),
      valueInfo('pooler_output', 'float32', ['b', HIDDEN_SIZE]),
    ],
  })
}

/** A tower of images: pooler_output = [mean red, mean green, mean blue] of pixel_values. */
export function imageTowerGraph(): Uint8Array {
  return writeOnnxModel({
    nodes: [node('ReduceMean', ['pixel_values'], ['pooler_output'], { axes: [2, 3], keepdims: 0 })],
    inputs: [PIXELS],
    outputs: [valueInfo('pooler_output', 'float32', ['n', 3])],
  })
}

/** Both towers in one graph, as some exporters have it, the tokens first. */
export function combinedTowersGraph(): Uint8Array {
  return writeOnnxModel({
    nodes: [
      node('Gather', ['table', 'input_ids'], ['states'], { axis: 0 }),
      node('ReduceMax', ['states'], ['text_embeds'], { axes: [1], keepdims: 0 }),
      node('ReduceMean', ['pixel_values'], ['image_embeds'], { axes: [2, 3], keepdims: 0 }),
    ],
    initializers: [stateTable()],
    inputs: [valueInfo('input_ids', 'int64', ['b', 's']), PIXELS],
    outputs: [
      valueInfo('text_embeds', 'float32', ['b', HIDDEN_SIZE]),
      valueInfo('image_embeds', 'float32', ['n', 3]),
    ],
  })
}

/** embeds = states × matrix, which is given by its rows. */
export function projectionGraph(matrix: readonly (readonly number[])[]): Uint8Array {
  const [from, to] = [matrix.length, matrix[0]?.length ?? 0]
  return writeOnnxModel({
    nodes: [node('MatMul', ['states', 'matrix'], ['embeds'])],
    initializers: [float32('matrix', [from, to], matrix.flat())],
    inputs: [valueInfo('states', 'float32', ['n', from])],
    outputs: [valueInfo('embeds', 'float32', ['n', to])],
  })
}
