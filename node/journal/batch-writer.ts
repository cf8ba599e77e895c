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
import { openSegment, type OpenSegment, type Segment } from './segment.ts'
import type { ChainPosition } from './segment-scan.ts'

/** An entry as its log passes it to the journal. The row is complete, with its crc. */
export interface AppendedEntry {
  readonly logId: LogId
  readonly sequence: number
  /** 32 bytes, see journal-format.ts. */
  readonly row: Buffer
  readonly body: readonly Uint8Array[]
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
   * Writes one batch and resolves to its bytes once it is durable. A batch without entries is a
   * seal. The segment must have room.
   */
  async write(entries: readonly AppendedEntry[]): Promise<number> {
    const open = this.#open
    if (open === undefined) throw new RangeError('no segment is open')
    const { head, parts, length } = this.#encode(entries, open.salt)
    const offset = open.end
    const header = this.#segmentHeader
    if (header === undefined) await open.file.write(parts, offset)
    else await open.file.write([header, ...parts], 0)
    this.#segmentHeader = undefined
    this.#nextBatch += 1
    this.#previousCrc = head.readUInt32BE(0)
    open.end = offset + alignedLength(length)
    for (const { logId, sequence } of entries) open.segment.add(logId, sequence, offset)
    return length
  }

  async close(): Promise<void> {
    await this.#open?.file.close()
    this.#open = undefined
  }

  #encode(
    entries: readonly AppendedEntry[],
    salt: number,
  ): { readonly head: Buffer; readonly parts: readonly Uint8Array[]; readonly length: number } {
    const bodies = entries.flatMap(({ body }) => body)
    const rows = entries.map(({ row }) => row)
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
