// Writes small ONNX models (https://onnx.ai/onnx/repo-docs/IR.html) from plain data, so that tests and
// benchmarks hold the graphs they run. Field numbers are those of onnx.proto3; opset 17, IR version 8.

import type { TensorType } from '../../../inference/runtime/graph-session.ts'

const IR_VERSION = 8
/** The versions of operators by their domain. The domain of the standard operators has no name. */
const OPSETS: Readonly<Record<string, number>> = { '': 17, 'ai.onnx.ml': 3 }

/** A graph as plain data. Nodes are in the order in which they run. */
export interface GraphDefinition {
  readonly nodes: readonly GraphNode[]
  readonly initializers?: readonly Initializer[]
  readonly inputs: readonly ValueInfo[]
  readonly outputs: readonly ValueInfo[]
}

/** One operation of a graph. */
export interface GraphNode {
  /** The operator, with its domain unless that is the standard one: `ai.onnx.ml.Scaler`. */
  readonly operator: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: Readonly<Record<string, Attribute>>
}

/**
 * Plain numbers are INT and INTS. FLOAT and FLOATS are wrapped, because 1 looks like an integer.
 */
export type Attribute =
  | number
  | string
  | readonly number[]
  | readonly string[]
  | { readonly float: number }
  | { readonly floats: readonly number[] }

/** A constant tensor. `bytes` are little-endian and row-major. */
export interface Initializer {
  readonly name: string
  readonly type: TensorType
  readonly dims: readonly number[]
  readonly bytes: Uint8Array
}

/** An input or output of a graph. */
export interface ValueInfo {
  readonly name: string
  readonly type: TensorType
  /** The sizes; a string names a variable size. */
  readonly dims: readonly (number | string)[]
}

export function writeOnnxModel(definition: GraphDefinition): Uint8Array {
  const model = new MessageWriter()
    .integer(1, IR_VERSION)
    .string(2, 'quarry')
    .message(7, graphMessage(definition))
  for (const [domain, version] of Object.entries(OPSETS)) {
    model.message(8, new MessageWriter().string(1, domain).integer(2, version))
  }
  return model.bytes()
}

export function node(
  operator: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, Attribute>> = {},
): GraphNode {
  return { operator, inputs, outputs, attributes }
}

export function valueInfo(
  name: string,
  type: TensorType,
  dims: readonly (number | string)[],
): ValueInfo {
  return { name, type, dims }
}

export function float32(
  name: string,
  dims: readonly number[],
  values: ArrayLike<number>,
): Initializer {
  const data = Float32Array.from(values)
  return { name, type: 'float32', dims, bytes: new Uint8Array(data.buffer) }
}

export function int8(name: string, dims: readonly number[], values: Int8Array): Initializer {
  return { name, type: 'int8', dims, bytes: new Uint8Array(values.buffer) }
}

export function int64(
  name: string,
  dims: readonly number[],
  values: readonly number[],
): Initializer {
  const data = BigInt64Array.from(values.map(BigInt))
  return { name, type: 'int64', dims, bytes: new Uint8Array(data.buffer) }
}

/** The enum TensorProto.DataType: the attribute `to` of a Cast takes it. */
export const ONNX_TYPE: Readonly<Record<TensorType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
}

function graphMessage(definition: GraphDefinition): MessageWriter {
  const graph = new MessageWriter()
  definition.nodes.forEach((each, index) => graph.message(1, nodeMessage(each, `node_${index}`)))
  graph.string(2, 'graph')
  for (const initializer of definition.initializers ?? []) {
    graph.message(5, tensorMessage(initializer))
  }
  for (const input of definition.inputs) graph.message(11, valueInfoMessage(input))
  for (const output of definition.outputs) graph.message(12, valueInfoMessage(output))
  return graph
}

function nodeMessage(definition: GraphNode, name: string): MessageWriter {
  const message = new MessageWriter()
  for (const input of definition.inputs) message.string(1, input)
  for (const output of definition.outputs) message.string(2, output)
  const dot = definition.operator.lastIndexOf('.')
  message.string(3, name).string(4, definition.operator.slice(dot + 1))
  if (dot > 0) message.string(7, definition.operator.slice(0, dot))
  for (const [key, value] of Object.entries(definition.attributes)) {
    message.message(5, attributeMessage(key, value))
  }
  return message
}

/** Field 20 is AttributeProto.type: 1 FLOAT, 2 INT, 3 STRING, 6 FLOATS, 7 INTS, 8 STRINGS. */
function attributeMessage(name: string, value: Attribute): MessageWriter {
  const message = new MessageWriter().string(1, name)
  if (typeof value === 'number') return message.integer(3, value).integer(20, 2)
  if (typeof value === 'string') return message.string(4, value).integer(20, 3)
  if ('float' in value) return message.float(2, value.float).integer(20, 1)
  if ('floats' in value) {
    for (const each of value.floats) message.float(7, each)
    return message.integer(20, 6)
  }
  for (const each of value) {
    if (typeof each === 'string') message.string(9, each)
    else message.integer(8, each)
  }
  return message.integer(20, typeof value[0] === 'string' ? 8 : 7)
}

function tensorMessage({ name, type, dims, bytes }: Initializer): MessageWriter {
  const message = new MessageWriter()
  for (const dim of dims) message.integer(1, dim)
  return message.integer(2, ONNX_TYPE[type]).string(8, name).blob(9, bytes)
}

function valueInfoMessage({ name, type, dims }: ValueInfo): MessageWriter {
  const shape = new MessageWriter()
  for (const dim of dims) {
    const dimension = new MessageWriter()
    shape.message(1, typeof dim === 'string' ? dimension.string(2, dim) : dimension.integer(1, dim))
  }
  const tensor = new MessageWriter().integer(1, ONNX_TYPE[type]).message(2, shape)
  return new MessageWriter().string(1, name).message(2, new MessageWriter().message(1, tensor))
}

const WIRE_VARINT = 0
const WIRE_BYTES = 2
const WIRE_FIXED32 = 5

/** Appends the fields of one protobuf message. */
class MessageWriter {
  readonly #parts: Uint8Array[] = []

  integer(field: number, value: number): this {
    return this.#tag(field, WIRE_VARINT).#varint(BigInt(value))
  }

  float(field: number, value: number): this {
    this.#tag(field, WIRE_FIXED32)
    this.#parts.push(new Uint8Array(Float32Array.of(value).buffer))
    return this
  }

  string(field: number, value: string): this {
    return this.blob(field, new TextEncoder().encode(value))
  }

  blob(field: number, value: Uint8Array): this {
    this.#tag(field, WIRE_BYTES).#varint(BigInt(value.length))
    this.#parts.push(value)
    return this
  }

  message(field: number, value: MessageWriter): this {
    return this.blob(field, value.bytes())
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts)
  }

  #tag(field: number, wire: number): this {
    return this.#varint(BigInt(field * 8 + wire))
  }

  /** Negative numbers are written as their 64-bit two's complement, as protobuf does. */
  #varint(value: bigint): this {
    let rest = BigInt.asUintN(64, value)
    const bytes: number[] = []
    while (rest > 127n) {
      bytes.push(Number(rest & 127n) | 128)
      rest >>= 7n
    }
    bytes.push(Number(rest))
    this.#parts.push(Uint8Array.from(bytes))
    return this
  }
}
