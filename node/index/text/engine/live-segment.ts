// A segment and what has been deleted from it since it was written.
//
// Statistics are exact: they count live documents only, so that scores depend on the documents and
// not on what has been merged. A term's frequency among the deleted is counted when the term is
// first asked for, and kept up from the log of deletions.
//
// Invariants:
//   D1  `deleted` has exactly the bits named in `log`, each once.
//   D2  The first `checkpointed` entries of the log are those of the last checkpoint.

import { GrowableUint32 } from '../segment/growable.ts'
import { NO_MORE, PostingsCursor } from '../postings/postings-cursor.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import type { Segment, SegmentField } from '../segment/segment.ts'
import { lengthOfByte } from '../segment/small-float.ts'
import { bytesOfCachedTerm, type CachedTerm, type TermCache } from './term-cache.ts'
import type { FieldStatistics } from '../matching/bm25.ts'
import { hasBit, newBitset, nextBit, setBit, type Bitset } from './bitset.ts'

const EXPIRY_CHUNK = 4096
const RECENT_TERMS_MAX = 16
/** Of larger terms the shared cache alone decides: what is recent is not counted in its bound. */
const RECENT_BLOCKS_MAX = 16

/** A term of the segment, ready to walk. */
export interface SegmentTerm {
  readonly source: PostingsSource
  readonly liveDocFreq: number
}

export class LiveSegment {
  readonly id: number
  readonly segment: Segment
  deleted: Bitset
  readonly log = new GrowableUint32()
  checkpointed = 0
  readonly #deletedOf = new Map<string, { docCount: number; totalLength: number }>()
  readonly #terms: TermCache
  readonly #termOwner: number
  /** A query asks for a term several times: these need no key to be made. */
  readonly #recent = new Map<string, Map<string, CachedTerm>>()
  #recentCount = 0
  #noNorms = new Uint8Array(0)
  #sortedLog = { from: 0, to: 0, docs: new Uint32Array(0) }
  #expired: { fromMs: number; untilMs: number; bits: Bitset | undefined } | undefined

  constructor(id: number, segment: Segment, terms: TermCache) {
    this.#terms = terms
    this.#termOwner = terms.newSegment()
    this.id = id
    this.segment = segment
    this.deleted = newBitset(segment.docCount)
  }

  get liveCount(): number {
    return this.segment.docCount - this.log.length
  }

  get bytesInMemory(): number {
    const bitsets = this.deleted.byteLength + (this.#expired?.bits?.byteLength ?? 0)
    return this.segment.bytesInMemory + this.log.length * 4 + bitsets
  }

  /** Norm 0 for every document: of fields without lengths. */
  noNorms(): Uint8Array {
    if (this.#noNorms.length < this.segment.docCount) {
      this.#noNorms = new Uint8Array(this.segment.docCount)
    }
    return this.#noNorms
  }

  isDeleted(doc: number): boolean {
    return hasBit(this.deleted, doc)
  }

  /** A document deleted before stays so. */
  delete(doc: number): void {
    if (doc >>> 5 >= this.deleted.length) {
      const larger = new Uint32Array(Math.max(this.deleted.length * 2, (doc >>> 5) + 1))
      larger.set(this.deleted)
      this.deleted = larger
    }
    if (hasBit(this.deleted, doc)) return
    setBit(this.deleted, doc)
    this.log.push(doc)
    for (const name of this.segment.fieldNames()) {
      const norm = this.segment.field(name)?.norms?.[doc] ?? 0
      if (norm > 0) this.#countDeleted(name, lengthOfByte(norm))
    }
  }

  /** The live document with this key; -1 for none. */
  liveDocOf(key: string): number {
    const doc = this.segment.docOf(key)
    return doc >= 0 && !this.isDeleted(doc) ? doc : -1
  }

  /** Of a text field: documents with a length. Of others: all documents. */
  fieldStatistics(name: string): FieldStatistics {
    const field = this.segment.field(name)
    if (field?.norms === undefined) return { docCount: this.liveCount, totalLength: 0 }
    const gone = this.#deletedOf.get(name)
    return {
      docCount: field.docCount - (gone?.docCount ?? 0),
      totalLength: field.totalLength - (gone?.totalLength ?? 0),
    }
  }

  term(fieldName: string, text: string): SegmentTerm | undefined {
    const field = this.segment.field(fieldName)
    if (field === undefined) return undefined
    const cached = this.#cachedTerm(field, text)
    const entry = this.segment.isKeyOrdered ? cached.entry : field.find(text)
    if (entry === undefined) return undefined
    const source = cached.source ?? field.postings(entry)
    if (cached.seen < this.log.length) {
      cached.deletedCount += this.#deletedIn(source, cached.seen)
      cached.seen = this.log.length
    }
    return { source, liveDocFreq: entry.docFreq - cached.deletedCount }
  }

  /** The documents past their expiry; undefined for none. Kept until the next one expires. */
  expiredAt(nowMs: number): Bitset | undefined {
    if (this.segment.firstExpiryMs > nowMs) return undefined
    const known = this.#expired
    const isKnown = known !== undefined && nowMs >= known.fromMs && nowMs < known.untilMs
    if (isKnown && this.segment.isKeyOrdered) return known.bits
    const bits = newBitset(this.segment.docCount)
    let untilMs = Infinity
    for (let from = 0; from < this.segment.docCount; from += EXPIRY_CHUNK) {
      const to = Math.min(from + EXPIRY_CHUNK, this.segment.docCount)
      for (const [i, expiresAtMs] of this.segment.expiriesOf(from, to).entries()) {
        if (expiresAtMs <= 0) continue
        if (expiresAtMs <= nowMs) setBit(bits, from + i)
        else untilMs = Math.min(untilMs, expiresAtMs)
      }
    }
    this.#expired = { fromMs: nowMs, untilMs, bits }
    return bits
  }

  /** What had been deleted when the log had this many entries. */
  deletedAt(logLength: number): Bitset {
    const bits = newBitset(this.segment.docCount)
    for (let i = 0; i < logLength; i += 1) setBit(bits, this.log.values[i] ?? 0)
    return bits
  }

  /** Deletes what was deleted at the last checkpoint; for a segment just opened. */
  restoreDeleted(bits: Bitset): void {
    const { docCount } = this.segment
    for (
      let doc = nextBit(bits, 0, docCount);
      doc < docCount;
      doc = nextBit(bits, doc + 1, docCount)
    ) {
      this.delete(doc)
    }
    this.checkpointed = this.log.length
  }

  #countDeleted(name: string, length: number): void {
    const gone = this.#deletedOf.get(name) ?? { docCount: 0, totalLength: 0 }
    gone.docCount += 1
    gone.totalLength += length
    this.#deletedOf.set(name, gone)
  }

  #cachedTerm(field: SegmentField, text: string): CachedTerm {
    const recent = this.#recent.get(field.name)?.get(text)
    if (recent !== undefined) return recent
    const cached = this.#sharedTerm(field, text)
    if ((cached.source?.blockCount ?? 0) <= RECENT_BLOCKS_MAX) {
      this.#remember(field.name, text, cached)
    }
    return cached
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

  #sharedTerm(field: SegmentField, text: string): CachedTerm {
    const key = `${this.#termOwner}\0${field.name}\0${text}`
    const known = this.#terms.get(key)
    if (known !== undefined) return known
    // A segment that grows must be asked each time; only its count of deleted is kept.
    const entry = this.segment.isKeyOrdered ? field.find(text) : undefined
    const source = entry === undefined ? undefined : field.postings(entry)
    const cached: CachedTerm = { entry, source, deletedCount: 0, seen: 0 }
    const blocks = source?.blockCount ?? 0
    this.#terms.put(key, cached, bytesOfCachedTerm(key, blocks))
    return cached
  }

  /** How many of the documents deleted since log entry `from` have the term. */
  #deletedIn(source: PostingsSource, from: number): number {
    const cursor = new PostingsCursor(source)
    let count = 0
    for (const doc of this.#sortedLogFrom(from)) {
      if (cursor.doc < doc && cursor.advance(doc) === NO_MORE) break
      if (cursor.doc === doc) count += 1
    }
    return count
  }

  #sortedLogFrom(from: number): Uint32Array {
    const to = this.log.length
    if (this.#sortedLog.from !== from || this.#sortedLog.to !== to) {
      this.#sortedLog = { from, to, docs: this.log.values.slice(from, to).toSorted() }
    }
    return this.#sortedLog.docs
  }
}
