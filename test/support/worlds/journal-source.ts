import type { ServiceError } from '../../../lib/errors.ts'
import type { AppendedEntry } from '../../../node/journal/batch-writer.ts'
import type { Journal } from '../../../node/journal/journal.ts'
import type { JournalSource } from '../../../node/journal/journal-source.ts'
import {
  crcOfEntry,
  encodeLogId,
  encodeUncheckedRow,
  setRowCrc,
} from '../../../node/journal/journal-format.ts'

interface Appended {
  readonly entry: AppendedEntry
  readonly text: string
  readonly done: PromiseWithResolvers<void>
}

/** A log that appends texts, and hears what became of them. */
export class TextSource implements JournalSource {
  readonly logId: string
  readonly heard: string[] = []
  /** Those of the entries that are not taken yet. */
  readonly companions = new Set<JournalSource>()
  failure: ServiceError | undefined
  readonly #journal: Journal
  #sequence: number
  #crc = 0
  #open: Appended[] = []
  #flying: Appended[] = []
  #isQueued = false

  /** Its entries are kept: it never flushes, unless `flush` says so. */
  constructor(journal: Journal, logId: string, sequence = 0) {
    journal.register(logId, { flush: async () => 0 }, 0)
    this.#journal = journal
    this.logId = logId
    this.#sequence = sequence
  }

  get readyBytes(): number {
    return this.#open.reduce((sum, { text }) => sum + text.length, 0)
  }

  get readyEntries(): number {
    return this.#open.length
  }

  /** Without `isTold` the journal hears of the entry with the next one, or from `tell`. */
  append(text: string, { isAwaited = true, isTold = true } = {}): Promise<void> {
    const body = [Buffer.from(text)]
    const row = encodeUncheckedRow(encodeLogId(this.logId), {
      sequence: ++this.#sequence,
      epoch: 0,
      length: text.length,
      previousCrc: this.#crc,
    })
    this.#crc = crcOfEntry(row, body)
    const entry = {
      logId: this.logId,
      sequence: this.#sequence,
      row: setRowCrc(row, this.#crc),
      body,
    }
    const done = Promise.withResolvers<void>()
    this.#open.push({ entry, text, done })
    if (isTold) this.tell({ isAwaited })
    return done.promise
  }

  tell({ isAwaited = true } = {}): void {
    if (this.#isQueued || this.#open.length === 0) return
    this.#isQueued = true
    this.#journal.ready(this, { isAwaited })
  }

  take(): readonly AppendedEntry[] {
    this.#isQueued = false
    this.companions.clear()
    this.#flying = this.#open
    this.#open = []
    return this.#flying.map(({ entry }) => entry)
  }

  written(): void {
    for (const { text, done } of this.#flying.splice(0)) {
      this.heard.push(text)
      done.resolve()
    }
  }

  failed(error: ServiceError): void {
    this.failure = error
    this.#isQueued = false
    for (const { done } of [...this.#flying.splice(0), ...this.#open.splice(0)]) done.reject(error)
  }
}

/** The texts of a log that the journal has, above a sequence number. */
export async function textsOfLog(journal: Journal, logId: string, above = 0): Promise<string[]> {
  const pages = await Array.fromAsync(journal.entries(logId, above))
  return pages.flat().map(({ body }) => body.toString())
}
