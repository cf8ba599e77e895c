import type { LogId } from './journal-format.ts'
import type { LogMark } from './log-mark.ts'
import { LogMarks } from './log-marks.ts'
import type { Segment } from './journal-segment.ts'

/** A row of a batch, as far as its place is remembered. */
export type ContentRow =
  | { readonly logId: LogId; readonly sequence: number; readonly mark?: undefined }
  | { readonly mark: LogMark }

/** Where a batch is. */
export interface BatchPlace {
  readonly segment: Segment
  readonly batch: number
  readonly offset: number
}

/** What the journal remembers of its durable content: the places of all entries, and the marks. */
export class JournalContent {
  /** Oldest first; the last one is being written. Retention removes segments from the front. */
  readonly segments: Segment[] = []
  readonly marks = new LogMarks()

  /** Adds the rows of a batch. Batches are added in the order of their numbers. */
  add(rows: Iterable<ContentRow>, place: BatchPlace): void {
    const { segment, batch, offset } = place
    segment.lastBatch = batch
    let at = 0
    for (const row of rows) {
      if (row.mark === undefined) segment.add(row.logId, row.sequence, offset)
      else this.#addMark(row.mark, place, at)
      at += 1
    }
  }

  /** The oldest segment is needed no more. */
  removeOldest(): void {
    const oldest = this.segments.shift()
    if (oldest !== undefined) this.marks.forgetCutsIn(oldest.number)
  }

  #addMark(mark: LogMark, { segment, batch }: BatchPlace, row: number): void {
    this.marks.add(mark, { segment: segment.number, batch, row })
    if (mark.kind !== 'truncate' && mark.kind !== 'restart') return
    const last = mark.kind === 'truncate' ? mark.last.sequence : 0
    for (const kept of new Set([...this.segments, segment])) kept.cut(mark.logId, last)
  }
}
