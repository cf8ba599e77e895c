import {
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type EntryRow,
} from './journal-format.ts'
import type { SegmentFile } from './journal-directory.ts'
import type { RowPlace } from './log-marks.ts'
import type { Segment } from './journal-segment.ts'
import { batchAt, damagedError, entriesOf } from './segment-scan.ts'

/** A segment is read in windows of this size. A larger batch gets a larger window. */
const WINDOW_BYTES = 4 * 1024 * 1024

/** An entry in a window. `place` is its batch, and the place of its row there. */
export interface WindowEntry {
  readonly row: EntryRow
  readonly place: Omit<RowPlace, 'segment'>
  readonly body: Buffer
}

/**
 * The part of a segment that is in memory. It never changes its bytes, because pages refer to them.
 */
export class SegmentWindow {
  readonly #file: SegmentFile
  readonly #name: string
  readonly #salt: number
  #bytes: Buffer = Buffer.alloc(0)
  #from = 0

  private constructor(file: SegmentFile, name: string, salt: number) {
    this.#file = file
    this.#name = name
    this.#salt = salt
  }

  /** Throws CORRUPTION if the segment's header is not readable. */
  static async open(file: SegmentFile, { name, number }: Segment): Promise<SegmentWindow> {
    const header = decodeSegmentHeader(await file.read(0, SEGMENT_HEADER_BYTES), number)
    if (header === undefined) throw damagedError(name, 0, 'its header is not readable')
    return new SegmentWindow(file, name, header.salt)
  }

  /** Whether the window holds a whole batch at the offset. */
  holds(offset: number): boolean {
    const at = offset - this.#from
    return (
      at + BATCH_HEADER_BYTES <= this.#bytes.length && at + this.#lengthAt(at) <= this.#bytes.length
    )
  }

  async moveTo(offset: number): Promise<void> {
    this.#from = offset
    this.#bytes = await this.#file.read(offset, WINDOW_BYTES)
    if (this.#bytes.length < BATCH_HEADER_BYTES) return
    const length = this.#lengthAt(0)
    if (length > this.#bytes.length) this.#bytes = await this.#file.read(offset, length)
  }

  *entriesAt(offset: number): IterableIterator<WindowEntry> {
    const batch = batchAt(this.#bytes, offset - this.#from, this.#salt)
    if (batch === undefined) throw damagedError(this.#name, offset, 'a batch is not readable')
    const { number } = batch.header
    for (const { row, at, body } of entriesOf(this.#bytes, batch)) {
      yield { row, place: { batch: number, row: at }, body }
    }
  }

  #lengthAt(at: number): number {
    return decodeBatchHeader(this.#bytes, at).length
  }
}
