import type { JournalDirectory } from './journal-directory.ts'
import {
  alignedLength,
  BATCH_HEADER_BYTES,
  encodeBatchHead,
  encodeSegmentHeader,
  ROW_BYTES,
  SEGMENT_HEADER_BYTES,
  type LogId,
} from './journal-format.ts'
import type { AppendedMark } from './log-mark.ts'
import { openSegment, type OpenSegment, type Segment } from './journal-segment.ts'
import type { ChainPosition } from './segment-scan.ts'

/** An entry as its log passes it to the journal. The row is complete, with its crc. */
export interface AppendedEntry {
  readonly logId: LogId
  readonly sequence: number
  /** 32 bytes, see journal-format.ts. */
  readonly row: Buffer
  readonly body: readonly Uint8Array[]
  readonly mark?: undefined
}

/** A row of a batch with its body. */
export type AppendedRow = AppendedEntry | AppendedMark

/** A batch that is durable. */
export interface WrittenPlace {
  readonly segment: Segment
  readonly batch: number
  readonly offset: number
  readonly bytes: number
}

/** Where batches go, and the end of the chain that they continue. */
export interface BatchWriterOptions {
  readonly directory: JournalDirectory
  readonly position: ChainPosition
  readonly randomBits: () => number
}

/** Writes batches one after the other and keeps the chain of their crcs. */
export class BatchWriter {
  readonly headerBytes = SEGMENT_HEADER_BYTES
  readonly #with: BatchWriterOptions
  #nextBatch: number
  #previousCrc: number
  #open: OpenSegment | undefined
  /** The header of a segment without batches. The first batch writes it to disk. */
  #segmentHeader: Buffer | undefined

  constructor(options: BatchWriterOptions) {
    this.#with = options
    this.#nextBatch = options.position.nextBatch
    this.#previousCrc = options.position.previousCrc
  }

  /** The number of the batch that comes next. */
  get nextBatch(): number {
    return this.#nextBatch
  }

  /** The free bytes of the open segment. */
  get left(): number {
    return this.#open === undefined ? 0 : this.#open.segment.bytes - this.#open.end
  }

  async rotate(segment: Segment): Promise<void> {
    const salt = this.#with.randomBits()
    const next = await openSegment(this.#with.directory, segment, salt)
    await this.#open?.file.close()
    this.#open = next
    this.#segmentHeader = encodeSegmentHeader({
      number: segment.number,
      firstBatch: this.#nextBatch,
      previousCrc: this.#previousCrc,
      salt,
    })
  }

  /**
   * Writes one batch and resolves to its place once it is durable. A batch without entries is a
   * seal. The segment must have room.
   */
  async write(rows: readonly AppendedRow[]): Promise<WrittenPlace> {
    const open = this.#open
    if (open === undefined) throw new RangeError('no segment is open')
    const { head, parts, length } = this.#encode(rows, open.salt)
    const offset = open.end
    const header = this.#segmentHeader
    if (header === undefined) await open.file.write(parts, offset)
    else await open.file.write([header, ...parts], 0)
    this.#segmentHeader = undefined
    const batch = this.#nextBatch++
    this.#previousCrc = head.readUInt32BE(0)
    open.end = offset + alignedLength(length)
    return { segment: open.segment, batch, offset, bytes: length }
  }

  async close(): Promise<void> {
    await this.#open?.file.close()
    this.#open = undefined
  }

  #encode(
    appended: readonly AppendedRow[],
    salt: number,
  ): { readonly head: Buffer; readonly parts: readonly Uint8Array[]; readonly length: number } {
    const bodies = appended.flatMap(({ body }) => body)
    const rows = appended.map(({ row }) => row)
    const bodyBytes = bodies.reduce((sum, part) => sum + part.length, 0)
    const length = BATCH_HEADER_BYTES + rows.length * ROW_BYTES + bodyBytes
    const head = encodeBatchHead({
      length,
      number: this.#nextBatch,
      previousCrc: this.#previousCrc,
      rows,
      salt,
    })
    return { head, length, parts: [head, ...bodies] }
  }
}
