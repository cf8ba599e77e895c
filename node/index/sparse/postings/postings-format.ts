// Numbers that the writer and the reader of postings share. Format: docs/reference/formats/sparse-segment.md.

import type { FileSum } from '../../rows/file-sums.ts'

export const POSTINGS_MAGIC = 0x50535151 // QQSP
export const POSTINGS_VERSION = 1
/** The terms of one block of the dictionary. */
export const TERMS_PER_BLOCK = 128
/** Term, postings, where they begin, their bytes, the sum of the table, the largest weight. */
export const ENTRY_BYTES = 32
/** Where a block of the dictionary is, its first term, its sum. */
export const DIRECTORY_ENTRY_BYTES = 16
export const FOOTER_BYTES = 40
/** The last row of a block, its largest weight, where it ends. */
export const BLOCK_ENTRY_BYTES = 12
export const SUM_BYTES = 4
/** A row and its weight, where they are not packed. */
export const POSTING_BYTES = 8
export const WEIGHT_BYTES = 4

/** A file of postings: its whole length, where its directory begins, and the sum from there to its end. */
export interface PostingsSum extends FileSum {
  readonly directoryAt: number
}
