import type { Sliced } from '../../../../lib/sliced.ts'
import type { ColumnReader } from './column.ts'
import type { DictionaryEntry } from './dictionary.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'
import type { PostingsSource } from '../postings/postings-source.ts'

export type SegmentFieldKind = 'text' | 'keyword' | 'number' | 'point'

/** The figures of a field that scores need besides its terms. */
export interface FieldStatistics {
  /** Documents with a length above 0. */
  readonly docCount: number
  /** The sum of their quantised lengths. */
  readonly totalLength: number
}

/**
 * One field of one segment. Contract:
 * - Text and keyword fields have terms; `entriesFrom` walks them in the order of `compareTexts`,
 *   including terms without a document (`docFreq` 0).
 * - Keyword, number and point fields have a column; text fields have norms.
 * - An entry is valid for its own segment, while the segment does not grow.
 */
export interface SegmentField {
  readonly name: string
  readonly kind: SegmentFieldKind
  /** The byte of each document's length, 0 without the field; undefined unless text. */
  readonly norms: FieldNorms | undefined
  /** Documents with a length above 0 and the sum of their quantised lengths, deleted included. */
  readonly docCount: number
  readonly totalLength: number
  readonly column: ColumnReader | undefined
  find(term: string): DictionaryEntry | undefined
  entriesFrom(term: string): Iterable<DictionaryEntry>
  postings(entry: DictionaryEntry): PostingsSource
  /**
   * Prepares the first walk of the terms and the first ordinal in slices. Without it they do so at
   * once.
   */
  prepareTerms(): Sliced<void>
}

/** Stands for the ordinal of a document that has none. */
export const NO_ORDINAL = 0xffff_ffff

/**
 * A set of documents numbered from 0, in memory or on disk. Contract:
 * - Keys are strings of one code unit a byte, so that their order is that of the bytes.
 * - With `isKeyOrdered`, document numbers ascend with keys, and every key occurs once.
 * - Without it a key may occur again; the later document is the valid one and `docOf` finds it.
 * - Later writes do not change it.
 */
export interface Segment {
  readonly docCount: number
  readonly isKeyOrdered: boolean
  /** The bytes that the segment holds in memory, without caches. */
  readonly bytesInMemory: number
  /** The earliest expiry; Infinity if no document expires. */
  readonly firstExpiryMs: number
  fieldNames(): Iterable<string>
  field(name: string): SegmentField | undefined
  key(doc: number): string
  /** The document with this key; -1 for none. */
  docOf(key: string): number
  /** The expiries of the documents `from` to `to` (not included); 0 for never. */
  expiriesOf(from: number, to: number): Float64Array
  /** Whether a document of the segment has an ordinal. */
  readonly hasOrdinals: boolean
  /** The ordinals in the shard of the documents `from` to `to` (not included); NO_ORDINAL for none. */
  ordinalsOf(from: number, to: number): Uint32Array
  /** Prepares `keysInOrder` and the walks of terms in slices. */
  prepareMerge(): Sliced<void>
  /** Documents in the order of keys; `text` is the key and `ordinal` the document. */
  keysInOrder(): Iterable<{ readonly text: string; readonly ordinal: number }>
  /**
   * Visits the documents whose keys have the prefix: a range if `isKeyOrdered`, else a look at
   * each.
   */
  docsWithPrefix(prefix: string, visit: (doc: number) => void): void
}

/** A text above every key with the prefix, because no code unit of a key is above 0xff. */
export function endOfPrefix(prefix: string): string {
  return `${prefix}\u0100`
}
