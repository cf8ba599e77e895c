import type { JournalDirectory, SegmentFile } from './journal-directory.ts'
import { SEGMENT_HEADER_BYTES, segmentFileName, type LogId } from './journal-format.ts'
import { rowsOf, type ScannedBatch } from './segment-scan.ts'

/** The entries of one log in a segment. */
interface LogSpan {
  lastSequence: number
  /** The offsets of the batches with entries of the log, ascending. */
  readonly offsets: number[]
}

/**
 * What the journal remembers of one segment: the logs that have entries in it, and the places of
 * their batches.
 */
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

  /** The logs with entries in this segment, each with the sequence number of its last one. */
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

/** The segment that is being written. */
export interface OpenSegment {
  readonly segment: Segment
  readonly file: SegmentFile
  readonly salt: number
  /** The offset of the next batch. */
  end: number
}

export async function openSegment(
  directory: JournalDirectory,
  segment: Segment,
  salt: number,
): Promise<OpenSegment> {
  return { segment, file: await directory.open(segment.name), salt, end: SEGMENT_HEADER_BYTES }
}
