import { must } from '../../lib/assert.ts'
import type { JournalContent } from './journal-content.ts'
import type { JournalDirectory } from './journal-directory.ts'
import type { LogId } from './journal-format.ts'
import type { Segment } from './journal-segment.ts'
import { SegmentWindow } from './segment-window.ts'

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
  selection: EntrySelection,
): AsyncGenerator<readonly JournalEntry[]> {
  const file = await directory.open(segment.name)
  try {
    const window = await SegmentWindow.open(file, segment)
    let page: JournalEntry[] = []
    for (const offset of segment.offsetsOf(selection.logId)) {
      if (!window.holds(offset)) {
        yield* pageOf(page)
        page = []
        await window.moveTo(offset)
      }
      page.push(...selectedAt(window, offset, { content, selection }))
    }
    yield* pageOf(page)
  } finally {
    await file.close()
  }
}

function* pageOf(entries: readonly JournalEntry[]): Generator<readonly JournalEntry[]> {
  if (entries.length > 0) yield entries
}

interface Selected {
  readonly content: JournalContent
  readonly selection: EntrySelection
}

function* selectedAt(
  window: SegmentWindow,
  offset: number,
  { content, selection: { logId, above } }: Selected,
): Generator<JournalEntry> {
  for (const { row, place, body } of window.entriesAt(offset)) {
    if (row.logId !== logId || row.sequence <= above) continue
    if (content.marks.counts(logId, row.sequence, place)) yield { ...row, body }
  }
}
