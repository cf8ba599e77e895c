// A segment as a search sees it: its documents and its deletions at one moment. Later writes,
// flushes and merges do not change it.
//
// Statistics are exact: they count live documents only, so that scores depend on the documents and
// not on merges.

import type { PostingsSource } from '../postings/postings-source.ts'
import { FieldNorms } from '../encoding/field-norms.ts'
import type { FieldStatistics, Segment } from '../segment/segment.ts'
import type { Bitset } from '../../encoding/bitset.ts'
import type { Deletions, SegmentTerms } from './segment-terms.ts'
import type { CachedTerm } from './term-cache.ts'

/** A term of the segment, ready to walk. */
export interface SegmentTerm {
  readonly source: PostingsSource
  readonly liveDocFreq: number
  /** Where the set of its documents is kept; undefined in a segment that grows. */
  readonly keeper: TermKeeper | undefined
}

/** What is kept of a term from search to search. */
export type TermKeeper = Pick<CachedTerm, 'documents'>

/** The parts that all views of a segment share. */
export interface SegmentShares {
  readonly id: number
  readonly terms: SegmentTerms
  /** The documents of `segment` past their expiry, and perhaps later ones; undefined for none. */
  expiredAt(segment: Segment, nowMs: number): Bitset | undefined
  /** Grows whenever the answer of `expiredAt` changes. */
  readonly expiryChanges: number
}

/** A segment as one search sees it: its documents and deletions do not change during the search. */
export class LiveSegment {
  readonly segment: Segment
  /**
   * The deleted documents at the moment of the view. It does not change and must not be changed.
   */
  readonly deleted: Bitset
  /** One entry for each deleted document. */
  readonly log: { readonly length: number }
  readonly #shares: SegmentShares
  readonly #deletions: Deletions
  #noNorms: FieldNorms | undefined

  constructor(segment: Segment, deletions: Deletions, shares: SegmentShares) {
    this.segment = segment
    this.deleted = deletions.bits
    this.log = { length: deletions.count }
    this.#deletions = deletions
    this.#shares = shares
  }

  get id(): number {
    return this.#shares.id
  }

  /**
   * A text that is equal for two views in one thread only if the same documents are live in both,
   * and none of them has expired in only one view.
   */
  versionAt(nowMs: number): string {
    const { terms } = this.#shares
    const isNever = this.expiredAt(nowMs) === undefined
    const expiry = isNever ? '' : `:${this.#shares.expiryChanges}`
    return `${terms.number}:${this.segment.docCount}:${this.log.length}${expiry}`
  }

  get liveCount(): number {
    return this.segment.docCount - this.log.length
  }

  /** Norms of a field without lengths: 0 for every document. */
  noNorms(): FieldNorms {
    this.#noNorms ??= FieldNorms.ofAll(new Uint8Array(this.segment.docCount))
    return this.#noNorms
  }

  /** Counts the documents with a length for a text field, and all documents for other fields. */
  fieldStatistics(name: string): FieldStatistics {
    const field = this.segment.field(name)
    const norms = field?.norms
    if (field === undefined || norms === undefined) {
      return { docCount: this.liveCount, totalLength: 0 }
    }
    const gone = this.#shares.terms.deletedLengths(name, norms, this.log.length)
    return {
      docCount: field.docCount - gone.docCount,
      totalLength: field.totalLength - gone.totalLength,
    }
  }

  term(fieldName: string, text: string): SegmentTerm | undefined {
    const field = this.segment.field(fieldName)
    if (field === undefined) return undefined
    const cached = this.#shares.terms.term(this.segment, field, text)
    const entry = this.segment.isKeyOrdered ? cached.entry : field.find(text)
    if (entry === undefined) return undefined
    const source = cached.source ?? field.postings(entry)
    const deleted = this.#shares.terms.deletedWith(cached, source, this.#deletions)
    const keeper = cached.source === undefined ? undefined : cached
    return { source, liveDocFreq: entry.docFreq - deleted, keeper }
  }

  /**
   * The documents past their expiry, and perhaps later ones that the segment has not; undefined for
   * none. It does not change and must not be changed.
   */
  expiredAt(nowMs: number): Bitset | undefined {
    return this.#shares.expiredAt(this.segment, nowMs)
  }
}
