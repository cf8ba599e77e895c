import type { Sliced } from '../../../../lib/sliced.ts'
import type { Bitset } from '../../encoding/bitset.ts'
import { sharedUint32 } from '../../encoding/shared-array.ts'
import { LivePart, type PartSource } from '../../segments/live-part.ts'
import type { Segment } from '../segment/segment.ts'
import { ExpiredDocuments } from './expired-documents.ts'
import { LiveSegment } from './live-segment.ts'
import { SegmentTerms } from './segment-terms.ts'
import type { TermCache } from './term-cache.ts'

/** Documents that may grow in number; those that a view has do not change. */
export interface SegmentSource extends PartSource {
  /** Whether documents cannot be added any more: then other threads may read the segment. */
  readonly isSealed: boolean
  docOf(key: string): number
  view(): Segment
}

/**
 * A segment and its deletions, and the views of them that searches use: all in the thread that writes the index.
 */
export class SegmentState<Source extends SegmentSource = SegmentSource> extends LivePart<Source> {
  readonly id: number
  readonly terms: SegmentTerms
  #view: LiveSegment | undefined
  readonly #expired = new ExpiredDocuments()

  constructor(id: number, source: Source, terms: TermCache) {
    super(source, source.isSealed ? sharedUint32 : undefined)
    this.id = id
    this.terms = new SegmentTerms(this.log, terms)
  }

  override get bytesInMemory(): number {
    return super.bytesInMemory + this.#expired.bytes
  }

  /** The segment as it is now. */
  view(): LiveSegment {
    const known = this.#view
    const { docCount } = this.source
    const count = this.log.length
    if (known?.segment.docCount === docCount && known.log.length === count) return known
    this.#view = new LiveSegment(this.source.view(), { count, bits: this.handOutBits() }, this)
    return this.#view
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
}
