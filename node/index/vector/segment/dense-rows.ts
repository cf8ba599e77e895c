import type { VectorBlock } from './vector-block.ts'
import type { DocumentRows } from '../../rows/document-rows.ts'
import type { CoarseVectors } from './coarse-vectors.ts'

/**
 * Documents whose rows are dense vectors. Contract, beside that of documents:
 * - `block` answers as many rows from `row` on as lie together, at least one and at most `count`. Their bytes
 *   may be overwritten by the next call of any segment. CORRUPTION for damaged bytes.
 */
export interface DenseRows extends DocumentRows {
  /** Whether `block` answers from memory, but for the first time. */
  readonly isResident: boolean
  /** The same rows, to be measured many at once; undefined where few searches compare with all, or memory is full. */
  readonly coarse: CoarseVectors | undefined
  block(row: number, count: number): VectorBlock
}
