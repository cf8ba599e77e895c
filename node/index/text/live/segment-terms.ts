// Counts of the deleted documents of a segment, by term and by field. The first search that needs a
// count computes it; later searches add the deletions that the log has had since.

import { NO_MORE, PostingsCursor } from '../postings/postings-cursor.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'
import type { FieldStatistics, Segment, SegmentField } from '../segment/segment.ts'
import { lengthOfByte } from '../encoding/small-float.ts'
import { hasBit, type Bitset } from '../../encoding/bitset.ts'
import { termKey } from '../encoding/term-key.ts'
import { bytesOfCachedTerm, type CachedTerm, type TermCache } from './term-cache.ts'

const RECENT_TERMS_MAX = 16
/** Larger terms stay only in the shared cache, whose bound does not count recent terms. */
const RECENT_BLOCKS_MAX = 16
/** Looking a deleted document up in a term costs about as much as walking four documents of the term. */
const SEARCHED_RATIO = 4

/** Deleted documents in the order of their deletion. Values that are there do not change. */
export interface DeletionLog {
  readonly values: Uint32Array
}

/** The deletions at one moment: the first entries of the log. */
export interface Deletions {
  readonly count: number
  readonly bits: Bitset
}

interface DeletedLengths {
  readonly docCount: number
  readonly totalLength: number
  /** The number of log entries that are counted. */
  readonly seen: number
}

const NOTHING: DeletedLengths = { docCount: 0, totalLength: 0, seen: 0 }

/**
 * The number of deleted documents with a term, and the lengths of deleted fields. A search
 * subtracts these from the figures of the segment, so that scores do not depend on when segments
 * are merged.
 */
export class SegmentTerms {
  readonly #log: DeletionLog
  readonly #cache: TermCache
  /** The segment's number in the cache. No later segment gets the same number. */
  readonly number: number
  readonly #lengths = new Map<string, DeletedLengths>()
  /** Recent terms, because a query asks for a term several times. A look here needs no key. */
  readonly #recent = new Map<string, Map<string, CachedTerm>>()
  #recentCount = 0
  #sortedLog = { from: 0, to: 0, docs: new Uint32Array(0) }

  constructor(log: DeletionLog, cache: TermCache) {
    this.#log = log
    this.#cache = cache
    this.number = cache.newSegment()
  }

  term(segment: Segment, field: SegmentField, text: string): CachedTerm {
    const recent = this.#recent.get(field.name)?.get(text)
    if (recent !== undefined) return recent
    const cached = this.#sharedTerm(segment, field, text)
    if ((cached.source?.blockCount ?? 0) <= RECENT_BLOCKS_MAX) {
      this.#remember(field.name, text, cached)
    }
    return cached
  }

  /** The number of deleted documents that have the term. */
  deletedWith(cached: CachedTerm, source: PostingsSource, deletions: Deletions): number {
    const { count } = deletions
    // A later search has counted further than this one may see.
    if (cached.seen > count) return this.#deletedIn(source, 0, deletions)
    if (cached.seen < count) {
      cached.deletedCount += this.#deletedIn(source, cached.seen, deletions)
      cached.seen = count
    }
    return cached.deletedCount
  }

  /** The documents with a length among the first `count` deletions, and the sum of their lengths. */
  deletedLengths(name: string, norms: FieldNorms, count: number): FieldStatistics {
    const known = this.#lengths.get(name) ?? NOTHING
    const from = known.seen > count ? NOTHING : known
    let { docCount, totalLength } = from
    for (let i = from.seen; i < count; i += 1) {
      const norm = norms.at(this.#log.values[i] ?? 0)
      if (norm === 0) continue
      docCount += 1
      totalLength += lengthOfByte(norm)
    }
    const counted = { docCount, totalLength, seen: count }
    if (count > known.seen) this.#lengths.set(name, counted)
    return counted
  }

  #remember(field: string, text: string, term: CachedTerm): void {
    if (this.#recentCount >= RECENT_TERMS_MAX) {
      this.#recent.clear()
      this.#recentCount = 0
    }
    const ofField = this.#recent.get(field) ?? new Map<string, CachedTerm>()
    this.#recent.set(field, ofField.set(text, term))
    this.#recentCount += 1
  }

  #sharedTerm(segment: Segment, field: SegmentField, text: string): CachedTerm {
    const key = `${this.number}:${termKey(field.name, text)}`
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    // A segment that grows must be asked each time; only its count of deleted is kept.
    const entry = segment.isKeyOrdered ? field.find(text) : undefined
    const source = entry === undefined ? undefined : field.postings(entry)
    const cached: CachedTerm = { entry, source, deletedCount: 0, seen: 0, documents: undefined }
    const size = source ?? { docFreq: 0, blockCount: 0 }
    this.#cache.put(key, cached, bytesOfCachedTerm(key, size, segment.docCount))
    return cached
  }

  /** The number of documents deleted since log entry `from` that have the term. */
  #deletedIn(source: PostingsSource, from: number, { count, bits }: Deletions): number {
    const cursor = new PostingsCursor(source)
    let found = 0
    if (from === 0 && source.docFreq < count * SEARCHED_RATIO) {
      for (let doc = cursor.next(); doc !== NO_MORE; doc = cursor.next()) {
        if (hasBit(bits, doc)) found += 1
      }
      return found
    }
    for (const doc of this.#sorted(from, count)) {
      if (cursor.doc < doc && cursor.advance(doc) === NO_MORE) break
      if (cursor.doc === doc) found += 1
    }
    return found
  }

  #sorted(from: number, to: number): Uint32Array {
    if (this.#sortedLog.from !== from || this.#sortedLog.to !== to) {
      this.#sortedLog = { from, to, docs: this.#log.values.slice(from, to).toSorted() }
    }
    return this.#sortedLog.docs
  }
}
