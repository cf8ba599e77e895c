// The sealed segments of an index at one moment, for other threads.
//
// A view is a description that may be posted. It says where the bytes of each segment are (a file, or
// shared memory), and its deletions lie in shared memory. The writer keeps writing: it copies the bitmap of
// a segment before it deletes from it again, it appends to the log of deletions behind the entries that
// the view counts, and it removes no file that a view needs.

import type { SegmentBytes } from '../encoding/segment-file.ts'
import type { SegmentState } from '../live/segment-state.ts'
import type { DiskSegment, SegmentResident } from '../segment/disk-segment.ts'

/** A sealed segment as it was at the moment of its view. */
export interface SegmentViewDescription {
  /** A segment has the same id in all views of an index. */
  readonly id: number
  readonly source: SegmentBytes
  readonly resident: SegmentResident
  /** The first `count` documents of `log` were deleted, and `bits` has them. */
  readonly deleted: {
    readonly count: number
    readonly bits: Uint32Array
    readonly log: Uint32Array
  }
}

/** What `ViewReader.open` makes searchable in any thread. A structured clone shares the memory. */
export interface ViewDescription {
  /** A later view of an index has a greater one. */
  readonly generation: number
  readonly segments: readonly SegmentViewDescription[]
}

/**
 * A view as its writer holds it. Contract:
 * - The description stays good until `release`, whatever the writer applies, flushes or merges.
 * - After `release` the index removes files that only this view needed. A snapshot that a reader has
 *   opened before stays good.
 * - An index that is closed removes no files any more: the next opening does.
 * - `release` may be called more than once.
 */
export interface IndexView {
  readonly description: ViewDescription
  release(): void
}

export function describeSegment(live: SegmentState<DiskSegment>): SegmentViewDescription {
  const { source: segment } = live
  const bits = live.handOutBits()
  return {
    id: live.id,
    source: segment.file.source,
    resident: segment.resident,
    deleted: { count: live.log.length, bits, log: live.log.values },
  }
}
