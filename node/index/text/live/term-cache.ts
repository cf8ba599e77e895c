import { BoundedCache } from '../../encoding/bounded-cache.ts'
import type { DictionaryEntry } from '../segment/dictionary.ts'
import type { PostingsSource } from '../postings/postings-source.ts'

const TERM_BYTES = 300
const BLOCK_BYTES = 60

/** A term of one segment: its postings and its deleted documents. */
export interface CachedTerm {
  readonly entry: DictionaryEntry | undefined
  readonly source: PostingsSource | undefined
  deletedCount: number
  /** The number of entries in the segment's log of deletions that `deletedCount` covers. */
  seen: number
}

/** The looked-up terms, by the number of their segment, their field and their text. */
export class TermCache extends BoundedCache<string, CachedTerm> {
  #nextSegment = 0

  /** A number for a new segment. No other segment gets the same number. */
  newSegment(): number {
    this.#nextSegment += 1
    return this.#nextSegment
  }
}

/** An estimate of a term's bytes with the descriptions of its blocks. */
export function bytesOfCachedTerm(key: string, blockCount: number): number {
  return TERM_BYTES + key.length + blockCount * BLOCK_BYTES
}
