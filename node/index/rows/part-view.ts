import type { Bitset } from '../encoding/bitset.ts'
import type { LivePart, PartSource } from '../segments/live-part.ts'
import type { DocumentRows } from './document-rows.ts'

/** What a search sees of a part: it does not change. */
export interface PartView<Rows extends DocumentRows = DocumentRows, Segment extends Rows = Rows> {
  readonly rows: Rows
  /** Set for a sealed segment. */
  readonly segment: Segment | undefined
  /** Documents from here on came later. */
  readonly docCount: number
  readonly deleted: Bitset
  readonly liveCount: number
}

export function viewOf<Rows extends DocumentRows & PartSource, Segment extends Rows>(
  part: LivePart<Rows>,
  segment?: Segment,
): PartView<Rows, Segment> {
  const { source: rows, liveCount } = part
  return { rows, segment, docCount: rows.docCount, deleted: part.handOutBits(), liveCount }
}
