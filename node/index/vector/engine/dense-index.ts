import type { Paced } from '../../../../lib/sliced.ts'
import type { GraphBuilder } from '../building/graph-job.ts'
import type { DenseRows } from '../segment/document-rows.ts'
import type { VectorSegment } from '../segment/vector-segment.ts'
import { DenseSegments, type DenseSegmentsOptions } from './dense-segments.ts'
import { defaultVectorIndexLimits, VectorIndex, type VectorIndexLimits } from './vector-index.ts'
import { VectorTail, type VectorDocument } from './vector-tail.ts'

/** An index of dense vectors. */
export type DenseIndex = VectorIndex<VectorDocument, DenseRows, VectorSegment>

/** What an index is opened with. Without a library vectors are compared one by one. */
export interface DenseIndexOptions extends DenseSegmentsOptions {
  readonly builder: GraphBuilder
  readonly onWork: () => void
  readonly limits?: VectorIndexLimits
}

/** CORRUPTION if a file is missing or damaged, or the index has other settings. */
export function* openDenseIndex(options: DenseIndexOptions): Paced<DenseIndex> {
  const { builder, onWork, settings, limits = defaultVectorIndexLimits } = options
  const store = new DenseSegments(options)
  const newTail = (): VectorTail => new VectorTail(settings.dimension)
  const index: DenseIndex = new VectorIndex({ store, newTail, builder, onWork, limits })
  yield* index.restore()
  return index
}
