import type { Paced } from '../../../../lib/sliced.ts'
import type { PartView } from '../../vector/engine/vector-part.ts'
import {
  defaultVectorIndexLimits,
  VectorIndex,
  type VectorIndexLimits,
} from '../../vector/engine/vector-index.ts'
import { BUILDS_HERE } from '../../vector/building/graph-job.ts'
import type { SparseSegment } from './sparse-segment.ts'
import { SparseSegments, type SparseSegmentsOptions } from './sparse-segments.ts'
import { SparseTail, type SparseDocument } from './sparse-tail.ts'

/** Documents of an index of sparse vectors: sealed, or in memory. */
export type SparseRows = SparseTail | SparseSegment
/** What a search sees of a part. */
export type SparsePart = PartView<SparseRows, SparseSegment>
/** An index of sparse vectors. */
export type SparseIndex = VectorIndex<SparseDocument, SparseRows, SparseSegment>

/** Rows are compared quickly while they are in memory, and a merge goes through postings once. */
const LIMITS: VectorIndexLimits = {
  tailBytesMax: 16 * 2 ** 20,
  tailRowsMax: 8192,
  mergePolicy: { ...defaultVectorIndexLimits.mergePolicy, rowsMax: 2_000_000 },
}

/** What an index is opened with. */
export interface SparseIndexOptions extends SparseSegmentsOptions {
  readonly onWork: () => void
  readonly limits?: VectorIndexLimits | undefined
}

const newTail = (): SparseTail => new SparseTail()

/** CORRUPTION if a file is missing or damaged, or the index has other settings. */
export function* openSparseIndex(options: SparseIndexOptions): Paced<SparseIndex> {
  const { limits = LIMITS } = options
  const store = new SparseSegments(options)
  // Segments have no graphs, so that nothing is built.
  const shared = { builder: BUILDS_HERE, onWork: options.onWork, limits }
  const index: SparseIndex = new VectorIndex({ store, newTail, ...shared })
  yield* index.restore()
  return index
}
