import type { JournalDirectory, SegmentFile } from './journal-directory.ts'
import { SEGMENT_HEADER_BYTES, segmentFileName, type LogId } from './journal-format.ts'
import { rowsOf, type ScannedBatch } from './segment-scan.ts'

/** Which entries of one log lie in a segment. */
interface LogSpan {
  lastSequence: number
  /** Of the batches with entries of the log, ascending. */
  readonly offsets: number[]
}

/** What is known of one segment without reading it: whose entries it holds, and where. */
export class Segment {
  readonly number: number
  readonly bytes: number
  readonly #spans = new Map<LogId, LogSpan>()

  constructor(number: number, bytes: number) {
    this.number = number
    this.bytes = bytes
  }

  get name(): string {
    return segmentFileName(this.number)
  }

  /** The logs that have entries here, with the sequence number of their last one. */
  *logs(): IterableIterator<readonly [LogId, number]> {
    for (const [logId, { lastSequence }] of this.#spans) yield [logId, lastSequence]
  }

  lastSequenceOf(logId: LogId): number | undefined {
    return this.#spans.get(logId)?.lastSequence
  }

  offsetsOf(logId: LogId): readonly number[] {
    return this.#spans.get(logId)?.offsets ?? []
  }

  index(batch: ScannedBatch): void {
    for (const { logId, sequence } of rowsOf(batch)) this.add(logId, sequence, batch.offset)
  }

  add(logId: LogId, sequence: number, offset: number): void {
    const span = this.#spans.get(logId)
    if (span === undefined) {
      this.#spans.set(logId, { lastSequence: sequence, offsets: [offset] })
      return
    }
    span.lastSequence = sequence
    if (span.offsets.at(-1) !== offset) span.offsets.push(offset)
  }
}

/** The segment that is written at the moment. */
export interface OpenSegment {
  readonly segment: Segment
  readonly file: SegmentFile
  readonly salt: number
  /** Where the next batch goes. */
  end: number
}

export async function openSegment(
  directory: JournalDirectory,
  segment: Segment,
  salt: number,
): Promise<OpenSegment> {
  return { segment, file: await directory.open(segment.name), salt, end: SEGMENT_HEADER_BYTES }
}
