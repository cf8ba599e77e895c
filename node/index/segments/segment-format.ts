// What the files of an index are called, and what its manifest says, as each kind of index has them.

import { ServiceError } from '../../../lib/errors.ts'
import type { Bitset } from '../encoding/bitset.ts'

/** A segment as the manifest lists it, by the number in the names of its files. */
export interface ListedSegment {
  readonly id: number
}

/** The segments of one checkpoint: everything up to and with its sequence is in them. */
export interface Manifest<Listed extends ListedSegment> {
  readonly checkpoint: number
  /** Greater than the number of any segment that the index has had. */
  readonly nextId: number
  readonly segments: readonly Listed[]
}

/**
 * How a kind of index prints what it keeps on the disk. Contract:
 * - A segment of number n has files `n.<ending>`, with some of `endings` and in any case the first of them.
 * - Its deletions at the checkpoint are in `n-<generation>.deleted`. Each new file of them has the next generation,
 *   from 1 on; generation 0 stands for no file.
 * - Everything is plain: nothing here reads or writes a file.
 */
export interface SegmentFormat<Listed extends ListedSegment> {
  /** What messages call the index. */
  readonly noun: string
  /** What the manifest has before its segments, as JSON. An index with another head is another index. */
  readonly head: Readonly<Record<string, unknown>>
  readonly endings: readonly [string, ...string[]]
  endingsOf(listed: Listed): readonly string[]
  generationOf(listed: Listed): number
  printDeleted(deleted: Bitset): Uint8Array
  /** What the manifest says of the segment with a file of deletions: of these bytes. */
  withDeleted(listed: Listed, generation: number, bytes: Uint8Array): Listed
  /** Undefined if these are not the bytes that were printed for a segment of `docCount` documents. */
  parseDeleted(bytes: Uint8Array, listed: Listed, docCount: number): Bitset | undefined
}

/** Every fault of a file of ours: the index is built again. */
export function corruptionOf(noun: string, what: string): ServiceError {
  return new ServiceError('CORRUPTION', `the ${noun} file ${what}; rebuild the index`)
}
