// Reads one log of the journal in order, and stays where it is between two calls.

import type { Journal } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-reader.ts'
import {
  encodeLogId,
  encodeUncheckedRow,
  setRowCrc,
  type LogId,
} from '../../journal/journal-format.ts'
import type { SentEntry } from './message-codec.ts'

/** One reader of a log. While it is not at rest, the journal keeps the segments before it. */
export class LogReader {
  readonly #journal: Pick<Journal, 'entries'>
  readonly #logId: LogId
  readonly #log: Buffer
  #pages: AsyncGenerator<readonly JournalEntry[]> | undefined
  #page: readonly JournalEntry[] = []
  #at = 0
  #above = 0
  #goneThrough: number | undefined

  constructor(journal: Pick<Journal, 'entries'>, logId: LogId) {
    this.#journal = journal
    this.#logId = logId
    this.#log = encodeLogId(logId)
  }

  /**
   * The entries after `above`, through `through`, with the leader's rows. Undefined if the journal does
   * not have all of them: the first are gone, or the last are not durable yet.
   */
  async between(above: number, through: number): Promise<readonly SentEntry[] | undefined> {
    // What was open before may end before entries that came since: then the journal is opened once more.
    const isContinued = this.#pages !== undefined && above === this.#above
    if (!isContinued) await this.rest()
    const entries = await this.#read(above, through)
    if (entries !== undefined || !isContinued) return entries
    await this.rest()
    return this.#read(above, through)
  }

  /** Entries up to here were missing at the last call, because the journal has let them go. */
  get goneThrough(): number | undefined {
    return this.#goneThrough
  }

  /** Releases the segments of the journal. */
  async rest(): Promise<void> {
    const pages = this.#pages
    this.#pages = undefined
    this.#page = []
    this.#at = 0
    await pages?.return(undefined)
  }

  async #read(above: number, through: number): Promise<readonly SentEntry[] | undefined> {
    const entries: SentEntry[] = []
    this.#goneThrough = undefined
    this.#pages ??= this.#journal.entries(this.#logId, above)
    for (let sequence = above + 1; sequence <= through; sequence++) {
      const entry = await this.#next(this.#pages)
      if (entry?.sequence !== sequence) {
        if (entry !== undefined && entry.sequence > sequence) this.#goneThrough = entry.sequence - 1
        await this.rest()
        return undefined
      }
      entries.push(this.#sent(entry))
    }
    this.#above = through
    return entries
  }

  async #next(pages: AsyncGenerator<readonly JournalEntry[]>): Promise<JournalEntry | undefined> {
    while (this.#at >= this.#page.length) {
      const next = await pages.next()
      if (next.done === true) return undefined
      this.#page = next.value
      this.#at = 0
    }
    const entry = this.#page[this.#at]
    this.#at += 1
    return entry
  }

  #sent({ sequence, epoch, previousCrc, crc, body }: JournalEntry): SentEntry {
    const row = encodeUncheckedRow(this.#log, { sequence, epoch, length: body.length, previousCrc })
    return { row: setRowCrc(row, crc), body: [body] }
  }
}
