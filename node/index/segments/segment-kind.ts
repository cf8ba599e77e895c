// What a kind of index writes so that its documents live in a segmented index.

import type { Paced, Sliced } from '../../../lib/sliced.ts'
import type { Bitset } from '../encoding/bitset.ts'
import type { HeldSegment } from './held-segment.ts'
import type { LivePart } from './live-part.ts'
import type { SegmentFiles } from './segment-files.ts'
import type { ListedSegment } from './segment-format.ts'

/** A sealed segment as a part of an index. */
export interface SealedPart<Live extends LivePart<HeldSegment>, Listed extends ListedSegment> {
  readonly live: Live
  /** The entry of the segment in the manifest. */
  readonly listed: Listed
}

/** Which documents become a segment. */
export interface SegmentOrder<Input extends LivePart, Plan> {
  readonly id: number
  readonly inputs: readonly {
    readonly live: Input
    /** What was deleted at the checkpoint. */
    readonly without: Bitset
  }[]
  /** What the choice of a merge said; undefined for a flush, whose input is a part in memory. */
  readonly plan: Plan | undefined
}

/** A new segment, and what the manifest says about it. */
export interface WrittenSegment<Live, Listed> {
  readonly live: Live
  readonly listed: Listed
  /** By input, the new number of each document; -1 for those left out. */
  readonly numbers: readonly Int32Array[]
}

/** What else happens when a merge is chosen. */
export interface MergeMoment {
  /** Nothing waits to be written. */
  readonly isIdle: boolean
  /** The last flush began because memory was full: there is more to come. */
  readonly isFilling: boolean
  /** Another merge is under way. */
  readonly isMerging: boolean
}

/** Which segments to merge next, and how. */
export interface MergeChoice<Plan> {
  /** In the order in which their documents go into the new segment. */
  readonly ids: readonly number[]
  readonly plan: Plan
}

/** Chooses among the segments that no merge has chosen; undefined if there is nothing to merge. */
export type MergeLane<Live extends LivePart<HeldSegment>, Listed extends ListedSegment, Plan> = (
  free: readonly SealedPart<Live, Listed>[],
  moment: MergeMoment,
) => MergeChoice<Plan> | undefined

/**
 * One kind of segmented index: what its parts are, and how segments are written, read and merged.
 *
 * Contract, checked for every kind by test/conformance/segmented-index.ts:
 * - Whatever takes longer than a millisecond is in steps; between two of them anything else may come. A computation that is
 *   left leaves no file open.
 * - `write` keeps every document of its inputs that is not in `without`, under the number that it answers. It may keep
 *   those in `without`, too, where it copies a segment as a whole: they stay deleted. Documents that come to an input
 *   meanwhile are for the next segment. What it answers is durable, as far as its files go. It answers undefined if no
 *   document is kept; then, and after an error, its caller removes the files.
 * - `open` reads what `write` has listed, as often as it is asked. CORRUPTION for files that are missing or damaged.
 * - In the first lane a merge runs whenever there is one; one of a later lane while those before wait. `plan` is for
 *   `write` alone.
 * - The index alone, not its kind, writes deletions and manifests, and removes files.
 */
export interface SegmentKind<
  Memory extends LivePart,
  Live extends LivePart<HeldSegment>,
  Listed extends ListedSegment,
  Plan,
> {
  readonly files: SegmentFiles<Listed>
  readonly lanes: readonly MergeLane<Live, Listed, Plan>[]
  newMemory(): Memory
  /** Whether documents in memory are enough for a flush. */
  isFull(memory: Memory): boolean
  write(order: SegmentOrder<Memory | Live, Plan>): Paced<WrittenSegment<Live, Listed> | undefined>
  open(listed: Listed): Sliced<Live>
}
