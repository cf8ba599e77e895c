import type { Bitset } from '../../encoding/bitset.ts'
import { BoundedCache } from '../../encoding/bounded-cache.ts'
import type { DictionaryEntry } from '../segment/dictionary.ts'
import type { PostingsSource } from '../postings/postings-source.ts'

const TERM_BYTES = 300
const BLOCK_BYTES = 60
/** A term that one document in 32 has takes no more room as a set than as a list of numbers. */
const FREQUENT_SHARE = 32
/** The documents of a larger segment would push all other terms out of the cache. */
const SET_BYTES_MAX = 2 ** 20

/** A term of one segment: its postings and its deleted documents. */
export interface CachedTerm {
  readonly entry: DictionaryEntry | undefined
  readonly source: PostingsSource | undefined
  deletedCount: number
  /** The number of entries in the segment's log of deletions that `deletedCount` covers. */
  seen: number
  /** All documents that have the term, once a search has needed them as a set; see matching/term-set.ts. */
  documents: Bitset | undefined
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

/** Whether the documents of a term are worth a set. */
export function isFrequent(docFreq: number, docCount: number): boolean {
  return docFreq * FREQUENT_SHARE >= docCount && docCount / 8 <= SET_BYTES_MAX
}

/** An estimate of a term's bytes with the descriptions of its blocks, and the set that it may get later. */
export function bytesOfCachedTerm(
  key: string,
  { docFreq, blockCount }: Pick<PostingsSource, 'docFreq' | 'blockCount'>,
  docCount: number,
): number {
  const setBytes = isFrequent(docFreq, docCount) ? docCount / 8 : 0
  return TERM_BYTES + key.length + blockCount * BLOCK_BYTES + setBytes
}
