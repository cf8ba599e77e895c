import type { Paced } from '../../../../lib/sliced.ts'
import type { PartView } from '../../rows/part-view.ts'
import { RowsIndex } from '../../rows/rows-index.ts'
import type { SparseSegment } from './sparse-segment.ts'
import { SparseSegments, type SparseListed, type SparseSegmentsOptions } from './sparse-segments.ts'
import type { SparseDocument, SparseTail } from './sparse-tail.ts'

/** Documents of an index of sparse vectors: sealed, or in memory. */
export type SparseRows = SparseTail | SparseSegment
/** What a search sees of a part. */
export type SparsePart = PartView<SparseRows, SparseSegment>
/** An index of sparse vectors. */
export class SparseIndex extends RowsIndex<
  SparseDocument,
  SparseTail,
  SparseSegment,
  SparseListed
> {}

/** What an index is opened with. */
export interface SparseIndexOptions extends SparseSegmentsOptions {
  readonly onWork: () => void
}

/** CORRUPTION if a file is missing or damaged, or the index has other settings. */
export function* openSparseIndex(options: SparseIndexOptions): Paced<SparseIndex> {
  const index = new SparseIndex(new SparseSegments(options), options.onWork)
  yield* index.restore()
  return index
}
