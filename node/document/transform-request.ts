// A transform of one document, as a client asks for it and its shard gets it.

import type { TransformOperator } from './transform-operators.ts'

/** One operation of a transform, checked: its value fits its operator. */
export interface TransformOperation {
  readonly operator: TransformOperator
  readonly path: readonly string[]
  /** Compact JSON. The value of an operator without a value is null. */
  readonly value: Buffer
}

/** All operations of one transform on one key, in order. */
export interface TransformRequest {
  readonly key: Buffer
  readonly operations: readonly TransformOperation[]
  /**
   * Whether the transform creates an absent document from `{}`. Otherwise an absent document stays
   * absent.
   */
  readonly upsert: boolean
}
