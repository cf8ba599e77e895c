/** The element types that served graphs take and give, by their names in ONNX. */
export type TensorType = 'float32' | 'float16' | 'int64' | 'int32' | 'bool' | 'uint8' | 'int8'

/**
 * A dense tensor in row-major order. int64 is held as bigints, float16 as its bits, bool as bytes
 * of 0 and 1.
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
  /** The size of each dimension; undefined: any size. */
  readonly dims: readonly (number | undefined)[]
}

/**
 * One loaded ONNX graph.
 *
 * Contract, checked for every implementation by test/conformance/graph-session.ts:
 * - `run` needs a tensor for every input. It answers every output, or the outputs named in `wanted`.
 * - `run` blocks its thread until the graph is done, so only workers call it.
 * - When the runtime refuses the inputs (wrong shape or type, an id out of range, a missing input),
 *   `run` rejects with code INFERENCE_FAILED, and the session can still be used.
 * - The tensors of an answer belong to the caller, who may feed them again. `run` changes no input.
 * - Concurrent runs do not affect each other.
 * - `release` frees the native memory. A second `release` does nothing; a later `run` is our bug.
 */
export interface GraphSession {
  readonly inputs: readonly GraphSlot[]
  readonly outputs: readonly GraphSlot[]
  /**
   * True: the caller must run each row by itself, because rows of one run change each other.
   * Absent: false.
   */
  readonly runsRowsApart?: boolean
  run(
    feeds: Readonly<Record<string, GraphTensor>>,
    wanted?: readonly string[],
  ): Promise<Readonly<Record<string, GraphTensor>>>
  release(): Promise<void>
}
