import { must } from '../../lib/assert.ts'
import type { JournalContent } from './journal-content.ts'
import type { JournalDirectory, SegmentFile } from './journal-directory.ts'
import {
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type EntryRow,
  type LogId,
} from './journal-format.ts'
import type { RowPlace } from './log-marks.ts'
import type { Segment } from './segment.ts'
import { batchAt, damagedError, entriesOf } from './segment-scan.ts'

/** One entry of a log, as it was appended. */
export interface JournalEntry {
  readonly sequence: number
  readonly epoch: number
  readonly previousCrc: number
  readonly crc: number
  readonly body: Buffer
}

/** The entries of `logId` whose sequence is greater than `above`. */
export interface EntrySelection {
  readonly logId: LogId
  readonly above: number
}

/** The batch of an entry, and the place of its row there. */
type EntryPlace = Omit<RowPlace, 'segment'>

/** A segment is read in windows of this size. A larger batch gets a larger window. */
const WINDOW_BYTES = 4 * 1024 * 1024

/** Where entries are read, and which of them count. */
export interface ReadableJournal {
  readonly directory: JournalDirectory
  readonly content: JournalContent
}

/**
 * Reads the selected entries of the segments in order. Each page comes from one window. A segment
 * that is being read stays, and those after it as well, because segments go from the front.
 */
export async function* readEntries(
  journal: ReadableJournal,
  selection: EntrySelection,
): AsyncGenerator<readonly JournalEntry[]> {
  const segments = journal.content.segments.filter(
    (segment) => (segment.lastSequenceOf(selection.logId) ?? -1) > selection.above,
  )
  for (const segment of segments) segment.beginReading()
  try {
    while (segments.length > 0) {
      yield* readSegment(journal, must(segments[0], 'the next segment'), selection)
      segments.shift()?.endReading()
    }
  } finally {
    for (const segment of segments) segment.endReading()
  }
}

async function* readSegment(
  { directory, content }: ReadableJournal,
  segment: Segment,
  { logId, above }: EntrySelection,
): AsyncGenerator<readonly JournalEntry[]> {
  const file = await directory.open(segment.name)
  try {
    const header = decodeSegmentHeader(await file.read(0, SEGMENT_HEADER_BYTES), segment.number)
    if (header === undefined) throw damagedError(segment.name, 0, 'its header is not readable')
    const window = new Window(file, { name: segment.name, salt: header.salt })
    for (const offset of segment.offsetsOf(logId)) {
      if (!window.holds(offset)) yield* window.moveTo(offset)
      window.takeEntriesAt(offset, (row, place) => {
        if (row.logId !== logId || row.sequence <= above) return false
        return content.marks.counts(logId, row.sequence, place)
      })
    }
    yield* window.page()
  } finally {
    await file.close()
  }
}

/**
 * The part of a segment that is in memory. It never changes its bytes, because pages refer to them.
 */
class Window {
  readonly #file: SegmentFile
  readonly #segment: { readonly name: string; readonly salt: number }
  #bytes: Buffer = Buffer.alloc(0)
  #from = 0
  #page: JournalEntry[] = []

  constructor(file: SegmentFile, segment: { readonly name: string; readonly salt: number }) {
    this.#file = file
    this.#segment = segment
  }

  /** Whether the window holds a whole batch at the offset. */
  holds(offset: number): boolean {
    const at = offset - this.#from
    return (
      at + BATCH_HEADER_BYTES <= this.#bytes.length && at + this.#lengthAt(at) <= this.#bytes.length
    )
  }

  /** Moves the window. Yields the entries that were taken from the old bytes. */
  async *moveTo(offset: number): AsyncGenerator<readonly JournalEntry[]> {
    yield* this.page()
    this.#from = offset
    this.#bytes = await this.#file.read(offset, WINDOW_BYTES)
    if (this.#bytes.length < BATCH_HEADER_BYTES) return
    const length = this.#lengthAt(0)
    if (length > this.#bytes.length) this.#bytes = await this.#file.read(offset, length)
  }

  takeEntriesAt(offset: number, isWanted: (row: EntryRow, place: EntryPlace) => boolean): void {
    const { name, salt } = this.#segment
    const batch = batchAt(this.#bytes, offset - this.#from, salt)
    if (batch === undefined) throw damagedError(name, offset, 'a batch is not readable')
    const { number } = batch.header
    for (const { row, at, body } of entriesOf(this.#bytes, batch)) {
      if (isWanted(row, { batch: number, row: at })) this.#page.push({ ...row, body })
    }
  }

  /** Yields the entries that were taken and not yet yielded, if any. */
  *page(): Generator<readonly JournalEntry[]> {
    const page = this.#page
    this.#page = []
    if (page.length > 0) yield page
  }

  #lengthAt(at: number): number {
    return decodeBatchHeader(this.#bytes, at).length
  }
}
