// A segment as its index keeps it: the deletions that the writer adds, and the views of searches.
//
// Invariants:
//   D1  `deleted` has exactly the bits named in `log`, each once.
//   D2  The first `checkpointed` entries of the log are those of the last checkpoint.
//   D3  The bits of a view do not change: they are copied before the next deletion.

import type { Sliced } from '../../../../lib/sliced.ts'
import { GrowableUint32 } from '../encoding/growable.ts'
import { sharedUint32 } from '../encoding/shared-array.ts'
import type { Segment } from '../segment/segment.ts'
import { hasBit, newBitset, nextBit, setBit, type Bitset } from '../encoding/bitset.ts'
import { ExpiredDocuments } from './expired-documents.ts'
import { LiveSegment } from './live-segment.ts'
import { SegmentTerms } from './segment-terms.ts'
import type { TermCache } from './term-cache.ts'

/** Documents that may grow in number; those that a view has do not change. */
export interface SegmentSource {
  readonly docCount: number
  readonly bytesInMemory: number
  /** Whether documents cannot be added any more: then other threads may read the segment. */
  readonly isSealed: boolean
  docOf(key: string): number
  view(): Segment
}

/**
 * A segment and its deletions. The index calls it to delete documents, and for views that searches
 * use; both happen in the thread that writes the index.
 */
export class SegmentState {
  readonly id: number
  readonly source: SegmentSource
  readonly terms: SegmentTerms
  readonly log: GrowableUint32
  checkpointed = 0
  #deleted: Bitset
  /** Whether a view has the present bits. */
  #isShared = false
  #view: LiveSegment | undefined
  readonly #expired = new ExpiredDocuments()

  constructor(id: number, source: SegmentSource, terms: TermCache) {
    this.id = id
    this.source = source
    this.log = source.isSealed ? new GrowableUint32(sharedUint32) : new GrowableUint32()
    this.terms = new SegmentTerms(this.log, terms)
    this.#deleted = this.#newBits((source.docCount + 31) >>> 5)
  }

  get liveCount(): number {
    return this.source.docCount - this.log.length
  }

  get bytesInMemory(): number {
    const bitsets = this.#deleted.byteLength + this.#expired.bytes
    return this.source.bytesInMemory + this.log.length * 4 + bitsets
  }

  /** The segment as it is now. */
  view(): LiveSegment {
    const known = this.#view
    const { docCount } = this.source
    const count = this.log.length
    if (known?.segment.docCount === docCount && known.log.length === count) return known
    this.#isShared = true
    this.#view = new LiveSegment(this.source.view(), { count, bits: this.#deleted }, this)
    return this.#view
  }

  isDeleted(doc: number): boolean {
    return hasBit(this.#deleted, doc)
  }

  /** A document deleted before stays so. */
  delete(doc: number): void {
    if (hasBit(this.#deleted, doc)) return
    if (this.#isShared || doc >>> 5 >= this.#deleted.length) this.#renewBits(doc)
    setBit(this.#deleted, doc)
    this.log.push(doc)
  }

  /** The live document with this key; -1 for none. */
  liveDocOf(key: string): number {
    const doc = this.source.docOf(key)
    return doc >= 0 && !this.isDeleted(doc) ? doc : -1
  }

  /** The documents past their expiry, and perhaps some that the segment has not; undefined for none. */
  expiredAt(segment: Segment, nowMs: number): Bitset | undefined {
    return this.#expired.at(segment, nowMs)
  }

  get expiryChanges(): number {
    return this.#expired.changes
  }

  /** What the first question about expired documents would do at once, in slices. */
  prepareExpired(): Sliced<void> {
    return this.#expired.prepare(this.source.view())
  }

  /** What had been deleted when the log had this many entries. */
  deletedAt(logLength: number): Bitset {
    const bits = newBitset(this.source.docCount)
    for (let i = 0; i < logLength; i += 1) setBit(bits, this.log.values[i] ?? 0)
    return bits
  }

  /** Deletes what was deleted at the last checkpoint; for a segment just opened. */
  restoreDeleted(bits: Bitset): void {
    const { docCount } = this.source
    let doc = nextBit(bits, 0, docCount)
    for (; doc < docCount; doc = nextBit(bits, doc + 1, docCount)) this.delete(doc)
    this.checkpointed = this.log.length
  }

  #newBits(words: number): Bitset {
    return this.source.isSealed ? sharedUint32(words) : new Uint32Array(words)
  }

  /** D3; a segment that grows needs more of them besides. */
  #renewBits(doc: number): void {
    const known = this.#deleted.length
    const words = doc >>> 5 < known ? known : Math.max(known * 2, (doc >>> 5) + 1)
    const bits = this.#newBits(words)
    bits.set(this.#deleted)
    this.#deleted = bits
    this.#isShared = false
  }
}
