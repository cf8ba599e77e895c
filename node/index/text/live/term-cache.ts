import { BoundedCache } from '../encoding/bounded-cache.ts'
import type { DictionaryEntry } from '../segment/dictionary.ts'
import type { PostingsSource } from '../postings/postings-source.ts'

const TERM_BYTES = 300
const BLOCK_BYTES = 60

/** What is known of a term of one segment. */
export interface CachedTerm {
  readonly entry: DictionaryEntry | undefined
  readonly source: PostingsSource | undefined
  deletedCount: number
  /** How much of the segment's log of deletions `deletedCount` covers. */
  seen: number
}

/** Terms looked up, by the number of their segment, their field and their text. */
export class TermCache extends BoundedCache<string, CachedTerm> {
  #nextSegment = 0

  /** A number for a segment, never used again. */
  newSegment(): number {
    this.#nextSegment += 1
    return this.#nextSegment
  }
}

/** About what a term takes with the descriptions of its blocks. */
export function bytesOfCachedTerm(key: string, blockCount: number): number {
  return TERM_BYTES + key.length + blockCount * BLOCK_BYTES
}
