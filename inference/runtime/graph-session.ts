/** Element types that graphs of the served kinds take and give, by their names in ONNX. */
export type TensorType = 'float32' | 'float16' | 'int64' | 'int32' | 'bool' | 'uint8' | 'int8'

/**
 * A dense tensor, row-major. int64 is held as bigints, float16 as its bits, bool as bytes of 0
 * and 1.
 */
export type GraphTensor =
  | { readonly type: 'float32'; readonly dims: readonly number[]; readonly data: Float32Array }
  | { readonly type: 'float16'; readonly dims: readonly number[]; readonly data: Uint16Array }
  | { readonly type: 'int64'; readonly dims: readonly number[]; readonly data: BigInt64Array }
  | { readonly type: 'int32'; readonly dims: readonly number[]; readonly data: Int32Array }
  | { readonly type: 'bool' | 'uint8'; readonly dims: readonly number[]; readonly data: Uint8Array }
  | { readonly type: 'int8'; readonly dims: readonly number[]; readonly data: Int8Array }

/** One input or output of a graph. */
export interface GraphSlot {
  readonly name: string
  readonly type: TensorType
  /** Undefined: any size. */
  readonly dims: readonly (number | undefined)[]
}

/**
 * One loaded ONNX graph.
 *
 * Contract, checked for every implementation by test/conformance/graph-session.ts:
 * - `run` wants a tensor for every input and answers every output, or those named in `wanted`.
 * - `run` holds up its thread until the graph is done: only workers call it.
 * - A refusal of the runtime (wrong shape or type, an id out of range, an input left out) rejects with code
 *   INFERENCE_FAILED; the session can still be used.
 * - The tensors of an answer belong to the caller and may be fed again; those fed stay as they are.
 * - Runs that are asked for at once do not know of each other.
 * - `release` frees the native memory; `run` after it is our bug. Releasing twice is allowed.
 */
export interface GraphSession {
  readonly inputs: readonly GraphSlot[]
  readonly outputs: readonly GraphSlot[]
  /** Each row is to be run by itself, because rows that run together change each other; default no. */
  readonly runsRowsApart?: boolean
  run(
    feeds: Readonly<Record<string, GraphTensor>>,
    wanted?: readonly string[],
  ): Promise<Readonly<Record<string, GraphTensor>>>
  release(): Promise<void>
}
