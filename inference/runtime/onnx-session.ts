// Sessions of onnxruntime-node. No other file imports that package; onnx-installed.ts looks whether it is there.

import path from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { assert } from '../../lib/assert.ts'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import type { GraphSession, GraphSlot, GraphTensor, TensorType } from './graph-session.ts'

/** How a graph is run; fixed when its session is opened. */
export interface SessionOptions {
  /** Cores that one run may use. */
  readonly threads: number
  /**
   * True for graphs whose shapes grow at every run (generation): memory patterns would be a waste.
   */
  readonly growingShapes?: boolean
  /** True for graphs in which the rows of one run change each other. */
  readonly rowsApart?: boolean
}

/**
 * Opens a graph by its path: the runtime then finds weights in files beside the graph, and copies
 * nothing. Rejects with UNAVAILABLE when the runtime cannot load the graph.
 */
export async function openOnnxSession(
  file: string,
  options: SessionOptions,
): Promise<GraphSession> {
  let session: InferenceSession | undefined
  try {
    session = await InferenceSession.create(file, nativeOptions(options))
    return new OnnxSession(session, options.rowsApart === true)
  } catch (cause) {
    await session?.release()
    // Clients receive the reason, but not the path of the model on this machine.
    const directory = path.dirname(file)
    const reason = reasonOf(cause)
      .replaceAll(directory + path.sep, '')
      .replaceAll(directory, '.')
    throw new ServiceError('UNAVAILABLE', `the graph cannot be loaded: ${reason}`, { cause })
  }
}

/** The runtime's options for a session. */
export function nativeOptions({ threads, growingShapes = false }: SessionOptions) {
  return {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    enableMemPattern: !growingShapes,
    // Fatal messages only: the runtime throws all other errors, and we report those once.
    logSeverityLevel: 4,
    // Threads that spin between runs double the processor time and slow down the neighbours.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  } satisfies InferenceSession.SessionOptions
}

class OnnxSession implements GraphSession {
  readonly inputs: readonly GraphSlot[]
  readonly outputs: readonly GraphSlot[]
  readonly runsRowsApart: boolean
  readonly #session: InferenceSession
  #isReleased = false

  constructor(session: InferenceSession, rowsApart: boolean) {
    this.runsRowsApart = rowsApart
    this.#session = session
    this.inputs = session.inputMetadata.map(slotOf)
    this.outputs = session.outputMetadata.map(slotOf)
  }

  async run(
    feeds: Readonly<Record<string, GraphTensor>>,
    wanted?: readonly string[],
  ): Promise<Readonly<Record<string, GraphTensor>>> {
    assert(!this.#isReleased, 'a released session is not run')
    const fetches = wanted ?? this.outputs.map(({ name }) => name)
    const outputs = await this.#runNative(feeds, fetches)
    return Object.fromEntries(fetches.map((name) => [name, graphTensor(outputs[name])]))
  }

  async release(): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    await this.#session.release()
  }

  async #runNative(
    feeds: Readonly<Record<string, GraphTensor>>,
    fetches: readonly string[],
  ): Promise<InferenceSession.ReturnType> {
    try {
      const native = Object.entries(feeds).map(([name, tensor]) => [name, nativeTensor(tensor)])
      return await this.#session.run(Object.fromEntries(native), fetches)
    } catch (cause) {
      const message = `the graph failed: ${reasonOf(cause)}`
      throw new ServiceError('INFERENCE_FAILED', message, { cause })
    }
  }
}

function slotOf(metadata: InferenceSession.ValueMetadata): GraphSlot {
  const { name } = metadata
  if (!metadata.isTensor) throw new Error(`${name} is not a tensor`)
  const dims = metadata.shape.map((size) =>
    typeof size === 'number' && size >= 0 ? size : undefined,
  )
  return { name, type: tensorTypeOf(metadata.type), dims }
}

const TENSOR_TYPES: ReadonlySet<string> = new Set<TensorType>([
  'float32',
  'float16',
  'int64',
  'int32',
  'bool',
  'uint8',
  'int8',
])

function isTensorType(type: string): type is TensorType {
  return TENSOR_TYPES.has(type)
}

function tensorTypeOf(type: string): TensorType {
  if (!isTensorType(type)) throw new Error(`tensors of ${type} are not supported`)
  return type
}

function nativeTensor({ type, dims, data }: GraphTensor): Tensor {
  return new Tensor(type, data, dims)
}

/** The runtime's class has the same fields with less precise types. */
function graphTensor(tensor: Tensor | undefined): GraphTensor {
  assert(tensor !== undefined, 'a wanted output is answered')
  const { type, dims, data } = tensor
  if (type === 'float16') return { type, dims, data: float16Bits(data) }
  if (data instanceof Float32Array && type === 'float32') return { type, dims, data }
  if (data instanceof BigInt64Array && type === 'int64') return { type, dims, data }
  if (data instanceof Int32Array && type === 'int32') return { type, dims, data }
  if (data instanceof Int8Array && type === 'int8') return { type, dims, data }
  if (data instanceof Uint8Array && isByteType(type)) return { type, dims, data }
  throw new ServiceError('INFERENCE_FAILED', `an output of type ${type} is not supported`)
}

function isByteType(type: string): type is 'bool' | 'uint8' {
  return type === 'bool' || type === 'uint8'
}

/** Newer versions of Node give a Float16Array, older ones the bits. */
function float16Bits(data: Tensor['data']): Uint16Array {
  assert(ArrayBuffer.isView(data), 'a tensor of halves is a typed array')
  return new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2)
}

const REASON_LENGTH_MAX = 500
/** A file of the runtime's source, a line number, and a function's signature. */
const SOURCE_PLACE = /\/onnxruntime_src\/[^ ]+ [^()]*\([^()]*\)(?: const)? ?/g

/**
 * The runtime's message without places in its source code, cut to a length that fits a log line.
 */
function reasonOf(error: unknown): string {
  return messageOf(error)
    .slice(0, 4 * REASON_LENGTH_MAX)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(SOURCE_PLACE, '')
    .slice(0, REASON_LENGTH_MAX)
}
