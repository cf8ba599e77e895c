// The matching documents as ordinals, by which one index tells another about them.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import { NO_ORDINAL, type Segment } from '../segment/segment.ts'
import { OrdinalGatherer, type OrdinalSet } from '../../host/ordinal-set.ts'
import { collect } from './search.ts'
import type { MatchRequest } from './segment-search.ts'

/** Ordinals are read from the segment in blocks of this many documents. */
const BLOCK_DOCS = 4096

/**
 * The live documents that match a request.
 * - `count` is the number of ordinals in `set`.
 * - `unnumbered` is the number of further matches without an ordinal, as documents of earlier
 *   versions. A caller that needs the whole set refuses or waits while it is above 0.
 */
export interface Selection {
  readonly count: number
  readonly unnumbered: number
  readonly set: OrdinalSet
}

/** Selects the matching documents. It pauses in proportion to its work, as a search does. */
export function* select(
  segments: readonly LiveSegment[],
  request: MatchRequest,
): Sliced<Selection> {
  const gatherer = new OrdinalGatherer()
  let unnumbered = 0
  let blocks: OrdinalBlocks | undefined
  yield* collect(segments, request, ({ segment }, docs) => {
    if (blocks?.segment !== segment) blocks = new OrdinalBlocks(segment)
    for (const doc of docs) {
      const ordinal = blocks.at(doc)
      if (ordinal === NO_ORDINAL) unnumbered += 1
      else gatherer.add(ordinal)
    }
  })
  return { count: gatherer.count, unnumbered, set: yield* gatherer.finish() }
}

/** The ordinals of a segment for documents that ascend. */
class OrdinalBlocks {
  readonly segment: Segment
  #from = 0
  #ordinals = new Uint32Array(0)

  constructor(segment: Segment) {
    this.segment = segment
  }

  at(doc: number): number {
    if (doc >= this.#from + this.#ordinals.length) this.#load(doc)
    return this.#ordinals[doc - this.#from] ?? NO_ORDINAL
  }

  #load(doc: number): void {
    this.#from = doc - (doc % BLOCK_DOCS)
    const to = Math.min(this.#from + BLOCK_DOCS, this.segment.docCount)
    this.#ordinals = new Uint32Array(this.segment.ordinalsOf(this.#from, to))
  }
}
