import type { Sliced } from '../../../../lib/sliced.ts'
import type { ColumnReader } from './column.ts'
import type { DictionaryEntry } from './dictionary.ts'
import type { PostingsSource } from '../postings/postings-source.ts'

export type SegmentFieldKind = 'text' | 'keyword' | 'number' | 'point'

/** What the scores of a field depend on besides its terms. */
export interface FieldStatistics {
  /** Documents with a length above 0. */
  readonly docCount: number
  /** The sum of their quantised lengths. */
  readonly totalLength: number
}

/**
 * One field of one segment. Contract:
 * - Text and keyword fields have terms; `entriesFrom` walks them in the order of code units, those
 *   without any document (`docFreq` 0) included.
 * - Keyword, number and point fields have a column; text fields have norms.
 * - An entry is good for the segment it came from, while the segment does not grow.
 */
export interface SegmentField {
  readonly name: string
  readonly kind: SegmentFieldKind
  /** The byte of each document's length, 0 without the field; undefined unless text. */
  readonly norms: Uint8Array | undefined
  /** Documents with a length above 0 and the sum of their quantised lengths, deleted included. */
  readonly docCount: number
  readonly totalLength: number
  readonly column: ColumnReader | undefined
  find(term: string): DictionaryEntry | undefined
  entriesFrom(term: string): Iterable<DictionaryEntry>
  postings(entry: DictionaryEntry): PostingsSource
  /** What the first walk of the terms, or the first ordinal, would do at once, in slices. */
  prepareTerms(): Sliced<void>
}

/** Stands for the ordinal of a document that has none. */
export const NO_ORDINAL = 0xffff_ffff

/**
 * A set of documents numbered from 0, in memory or on disk. Contract:
 * - Keys are strings of one code unit a byte, so that their order is that of the bytes.
 * - With `isKeyOrdered`, document numbers ascend with keys, and every key occurs once.
 * - Without it a key may occur again; the later document is the valid one and `docOf` finds it.
 * - Nothing changes, whatever is written meanwhile.
 */
export interface Segment {
  readonly docCount: number
  readonly isKeyOrdered: boolean
  /** What the segment holds in memory, caches aside. */
  readonly bytesInMemory: number
  /** The earliest expiry; Infinity if no document expires. */
  readonly firstExpiryMs: number
  fieldNames(): Iterable<string>
  field(name: string): SegmentField | undefined
  key(doc: number): string
  /** -1 if there is none. */
  docOf(key: string): number
  /** 0 for never. */
  expiriesOf(from: number, to: number): Float64Array
  /** Whether a document of the segment has an ordinal. */
  readonly hasOrdinals: boolean
  /** The ordinals in the shard of the documents `from` to `to` (not included); NO_ORDINAL for none. */
  ordinalsOf(from: number, to: number): Uint32Array
  /** Does the work `keysInOrder` and the walks of terms need, in slices. */
  prepareMerge(): Sliced<void>
  /** Documents by key; `text` is the key and `ordinal` the document. */
  keysInOrder(): Iterable<{ readonly text: string; readonly ordinal: number }>
  /** Documents whose key begins so, as a range if `isKeyOrdered`, else by looking at each. */
  docsWithPrefix(prefix: string, visit: (doc: number) => void): void
}

/** Sorts above every key that begins with `prefix`: no code unit of a key is above 0xff. */
export function endOfPrefix(prefix: string): string {
  return `${prefix}\u0100`
}
