// Reads the entries of many logs in one pass over the segments: at a start every shard wants its own, and each batch has
// entries of many shards.
//
//   expected ──entries()──▶ waiting ◀──page taken in──┐
//                              └──page──▶ working ────┘      leave: out of the reading
//
// Invariants:
//   JR1  Nothing is read while a log is expected or working, so one window of a segment is in memory, and the pages that
//        refer to it and to the one before, whatever the number of logs.
//   JR2  Each segment is opened once, and each of its windows read once.
//   JR3  A log gets the entries that `readEntries` would give it, in the same order.
//   JR4  Where the segments cannot be read, each log reads on by itself: it fails only if its own entries are damaged.

import {
  readEntries,
  type EntrySelection,
  type JournalEntry,
  type ReadableJournal,
} from './journal-reader.ts'
import { InvariantError } from '../../lib/assert.ts'
import type { LogId } from './journal-format.ts'
import type { Segment } from './journal-segment.ts'
import { SegmentWindow } from './segment-window.ts'

type Page = readonly JournalEntry[]

/**
 * One pass for the logs that were named at its beginning.
 *
 * Contract:
 * - Each of these logs is read with `entries` or leaves with `leave`, once. Until then the others wait.
 * - A reader that has a page must ask for the next one or end; the others wait for it.
 */
export class JointReading {
  readonly #journal: ReadableJournal
  /** Logs that are expected, or work on a page (JR1). */
  readonly #busy: Set<LogId>
  readonly #readers = new Map<LogId, Reader>()
  #quiet = Promise.withResolvers<void>()
  /** Resolves when nothing more is read here, whatever became of it. */
  readonly ended: Promise<void>

  constructor(journal: ReadableJournal, logIds: ReadonlySet<LogId>) {
    this.#journal = journal
    this.#busy = new Set(logIds)
    this.ended = this.#run()
  }

  async *entries(logId: LogId, above: number): AsyncGenerator<Page> {
    const reader = new Reader({ logId, above })
    this.#readers.set(logId, reader)
    let last = above
    try {
      for (;;) {
        const asked = reader.ask()
        this.#rests(logId)
        const page = await asked
        if (page === undefined) return
        yield page
        last = page.at(-1)?.sequence ?? last
      }
    } catch (error) {
      if (error instanceof InvariantError) throw error
      // JR4: the entries that could not be read may belong to other logs.
    } finally {
      this.leave(logId)
    }
    yield* readEntries(this.#journal, { logId, above: last })
  }

  /** Takes the log out of the reading, whether it has begun or not. */
  leave(logId: LogId): void {
    this.#readers.delete(logId)
    this.#rests(logId)
  }

  #rests(logId: LogId): void {
    this.#busy.delete(logId)
    if (this.#busy.size === 0) this.#quiet.resolve()
  }

  async #run(): Promise<void> {
    try {
      if (this.#busy.size > 0) await this.#quiet.promise
      const segments = this.#journal.content.segments.filter((one) => this.#isWanted(one))
      for (const segment of segments) segment.beginReading()
      try {
        for (const segment of segments) await this.#read(segment)
      } finally {
        for (const segment of segments) segment.endReading()
      }
      for (const reader of this.#readers.values()) reader.end()
    } catch (error) {
      for (const reader of this.#readers.values()) reader.fail(error)
    }
  }

  #isWanted(segment: Segment): boolean {
    return [...this.#readers.values()].some(({ selection: { logId, above } }) => {
      return (segment.lastSequenceOf(logId) ?? -1) > above
    })
  }

  async #read(segment: Segment): Promise<void> {
    const file = await this.#journal.directory.open(segment.name)
    try {
      const window = await SegmentWindow.open(file, segment)
      for (const offset of this.#offsetsIn(segment)) {
        if (!window.holds(offset)) {
          await this.#handOver()
          await window.moveTo(offset)
        }
        this.#takeAt(window, offset)
      }
      await this.#handOver()
    } finally {
      await file.close()
    }
  }

  #offsetsIn(segment: Segment): readonly number[] {
    const offsets = new Set<number>()
    for (const logId of this.#readers.keys()) {
      for (const offset of segment.offsetsOf(logId)) offsets.add(offset)
    }
    return [...offsets].toSorted((a, b) => a - b)
  }

  #takeAt(window: SegmentWindow, offset: number): void {
    const { marks } = this.#journal.content
    for (const { row, place, body } of window.entriesAt(offset)) {
      const reader = this.#readers.get(row.logId)
      if (reader === undefined || row.sequence <= reader.selection.above) continue
      if (marks.counts(row.logId, row.sequence, place)) reader.take({ ...row, body })
    }
  }

  /** Gives all logs what was taken for them, and waits until they ask for more. */
  async #handOver(): Promise<void> {
    const given = [...this.#readers.values()].filter((reader) => reader.hasPage)
    if (given.length === 0) return
    this.#quiet = Promise.withResolvers()
    for (const { selection } of given) this.#busy.add(selection.logId)
    for (const reader of given) reader.give()
    await this.#quiet.promise
  }
}

/** One log of a reading. */
class Reader {
  readonly selection: EntrySelection
  #page: JournalEntry[] = []
  #asked = Promise.withResolvers<Page | undefined>()

  constructor(selection: EntrySelection) {
    this.selection = selection
  }

  get hasPage(): boolean {
    return this.#page.length > 0
  }

  ask(): Promise<Page | undefined> {
    this.#asked = Promise.withResolvers()
    return this.#asked.promise
  }

  take(entry: JournalEntry): void {
    this.#page.push(entry)
  }

  give(): void {
    const page = this.#page
    this.#page = []
    this.#asked.resolve(page)
  }

  end(): void {
    this.#asked.resolve(undefined)
  }

  fail(error: unknown): void {
    this.#asked.reject(error)
  }
}
