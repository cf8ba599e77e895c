import type { Paced } from '../../../../lib/sliced.ts'
import { RowsIndex } from '../../rows/rows-index.ts'
import type { VectorSegment } from '../segment/vector-segment.ts'
import { DenseSegments, type DenseListed, type DenseSegmentsOptions } from './dense-segments.ts'
import type { VectorDocument, VectorTail } from './vector-tail.ts'

/** An index of dense vectors. */
export class DenseIndex extends RowsIndex<VectorDocument, VectorTail, VectorSegment, DenseListed> {}

/** What an index is opened with. Without a library vectors are compared one by one. */
export interface DenseIndexOptions extends DenseSegmentsOptions {
  readonly onWork: () => void
}

/** CORRUPTION if a file is missing or damaged, or the index has other settings. */
export function* openDenseIndex(options: DenseIndexOptions): Paced<DenseIndex> {
  const index = new DenseIndex(new DenseSegments(options), options.onWork)
  yield* index.restore()
  return index
}
