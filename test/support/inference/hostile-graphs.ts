// Graphs that harm the process that runs them. Each answers like an embedder's graph until it does not.

import {
  float32,
  int64,
  node,
  ONNX_TYPE,
  valueInfo,
  writeOnnxModel,
} from '../onnx/onnx-graph-writer.ts'

const IDS = valueInfo('input_ids', 'int64', ['b', 's'])

/** More than a stack of 8 MiB holds, twice over. */
const TREE_DEPTH = 100_000

/**
 * A decision tree that is one long branch. The runtime reads trees by recursion, so that loading
 * this one is a segmentation fault.
 */
export function crashingGraph(depth = TREE_DEPTH): Uint8Array {
  const ids = Array.from({ length: 2 * depth + 1 }, (_, id) => id)
  const isBranch = (id: number): boolean => id % 2 === 0 && id < 2 * depth
  const leaves = ids.filter((id) => !isBranch(id))
  const tree = {
    n_targets: 1,
    nodes_treeids: ids.map(zero),
    nodes_nodeids: ids,
    nodes_featureids: ids.map(zero),
    nodes_values: { floats: ids },
    nodes_modes: ids.map((id) => (isBranch(id) ? 'BRANCH_LEQ' : 'LEAF')),
    nodes_truenodeids: ids.map((id) => (isBranch(id) ? id + 2 : 0)),
    nodes_falsenodeids: ids.map((id) => (isBranch(id) ? id + 1 : 0)),
    target_treeids: leaves.map(zero),
    target_nodeids: leaves,
    target_ids: leaves.map(zero),
    target_weights: { floats: leaves },
  }
  return writeOnnxModel({
    nodes: [
      node('Cast', ['input_ids'], ['floats'], { to: ONNX_TYPE.float32 }),
      node('ai.onnx.ml.TreeEnsembleRegressor', ['floats'], ['sentence_embedding'], tree),
    ],
    inputs: [IDS],
    outputs: [valueInfo('sentence_embedding', 'float32', ['b', 1])],
  })
}

const zero = (): number => 0

/** The exponent of the largest token id: 3 ** 8 numbers are few, 13 ** 8 are 3 GiB. */
const HUNGER = 8

/** Allocates as many numbers as the largest token id says; state(v) = [v]. */
export function hungryGraph(): Uint8Array {
  return writeOnnxModel({
    nodes: [
      node('Cast', ['input_ids'], ['floats'], { to: ONNX_TYPE.float32 }),
      node('ReduceMax', ['floats'], ['largest'], { keepdims: 0 }),
      node('Pow', ['largest', 'hunger'], ['count']),
      node('Cast', ['count'], ['count_integer'], { to: ONNX_TYPE.int64 }),
      node('Reshape', ['count_integer', 'one'], ['size']),
      node('Expand', ['zero', 'size'], ['heap']),
      node('ReduceMax', ['heap'], ['nothing'], { keepdims: 0 }),
      node('Unsqueeze', ['floats', 'two'], ['states']),
      node('Add', ['states', 'nothing'], ['last_hidden_state']),
    ],
    initializers: [
      float32('hunger', [], [HUNGER]),
      float32('zero', [1], [0]),
      int64('one', [1], [1]),
      int64('two', [1], [2]),
    ],
    inputs: [IDS],
    outputs: [valueInfo('last_hidden_state', 'float32', ['b', 's', 1])],
  })
}

/** Fails on more than eight tokens, whatever its configuration says: each has a state of its own. */
export function shortGraph(output: 'last_hidden_state' | 'logits'): Uint8Array {
  return writeOnnxModel({
    nodes: [
      node('Shape', ['input_ids'], ['shape']),
      node('Gather', ['shape', 'index1'], ['length']),
      node('Range', ['index0', 'length', 'index1'], ['places']),
      node('Gather', ['states', 'places'], ['place_states']),
      node('Cast', ['input_ids'], ['floats'], { to: ONNX_TYPE.float32 }),
      node('Unsqueeze', ['floats', 'axis2'], ['id_states']),
      node('Add', ['id_states', 'place_states'], [output]),
    ],
    initializers: [
      int64('index0', [], [0]),
      int64('index1', [], [1]),
      int64('axis2', [1], [2]),
      float32('states', [8, 1], [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
    inputs: [IDS],
    outputs: [valueInfo(output, 'float32', ['b', 's', 1])],
  })
}
