import type { JournalDirectory, SegmentFile } from './journal-directory.ts'
import { SEGMENT_HEADER_BYTES, segmentFileName, type LogId } from './journal-format.ts'

/** The entries of one log in a segment. */
interface LogSpan {
  /** No entry that counts is above it. */
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
  /** The number of the newest durable batch in it; 0 for none. */
  lastBatch = 0
  readonly #spans = new Map<LogId, LogSpan>()
  #readers = 0

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

  /** Whether a reader needs the file to stay as it is. */
  get isRead(): boolean {
    return this.#readers > 0
  }

  beginReading(): void {
    this.#readers += 1
  }

  endReading(): void {
    this.#readers -= 1
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

  /** The log's entries above `sequence` that were added so far no longer count. */
  cut(logId: LogId, sequence: number): void {
    const span = this.#spans.get(logId)
    if (span !== undefined) span.lastSequence = Math.min(span.lastSequence, sequence)
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

/** Opens the file of a segment. Its first batch follows the header. */
export async function openSegment(
  directory: JournalDirectory,
  segment: Segment,
  salt: number,
): Promise<OpenSegment> {
  return { segment, file: await directory.open(segment.name), salt, end: SEGMENT_HEADER_BYTES }
}
