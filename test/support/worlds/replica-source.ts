import { must } from '../../../lib/assert.ts'
import type { ServiceError } from '../../../lib/errors.ts'
import type { AppendedEntry, AppendedRow } from '../../../node/journal/batch-writer.ts'
import type { Journal } from '../../../node/journal/journal.ts'
import {
  crcOfEntry,
  encodeLogId,
  encodeUncheckedRow,
  setRowCrc,
} from '../../../node/journal/journal-format.ts'
import type { JournalSource } from '../../../node/journal/journal-source.ts'
import { appendedMark, type LogMark } from '../../../node/journal/log-mark.ts'
import type { LogPosition } from '../../../node/journal/log-position.ts'

export const LOG_BEGIN: LogPosition = { sequence: 0, epoch: 0, crc: 0 }

/** An entry as its leader encodes it. */
export function encodedEntry(
  logId: string,
  previous: LogPosition,
  { epoch, text }: { readonly epoch: number; readonly text: string },
): { readonly appended: AppendedEntry; readonly position: LogPosition } {
  const body = [Buffer.from(text)]
  const sequence = previous.sequence + 1
  const length = must(body[0], 'the body').length
  const fields = { sequence, epoch, length, previousCrc: previous.crc }
  const row = encodeUncheckedRow(encodeLogId(logId), fields)
  const crc = crcOfEntry(row, body)
  const appended = { logId, sequence, row: setRowCrc(row, crc), body }
  return { appended, position: { sequence, epoch, crc } }
}

interface Queued {
  readonly row: AppendedRow
  readonly done: PromiseWithResolvers<void>
}

/** The log of a replica: entries and marks, in the order of the calls. */
export class ReplicaSource implements JournalSource {
  readonly logId: string
  readonly companions = []
  /** Where the log ends, durable or not. */
  last: LogPosition
  readonly #journal: Journal
  #open: Queued[] = []
  #flying: Queued[] = []

  constructor(journal: Journal, logId: string, last = LOG_BEGIN) {
    this.#journal = journal
    this.logId = logId
    this.last = last
  }

  get readyBytes(): number {
    const bodies = this.#open.flatMap(({ row }) => row.body)
    return bodies.reduce((sum, part) => sum + part.length, 0)
  }

  get readyEntries(): number {
    return this.#open.length
  }

  append(text: string, epoch = this.last.epoch): Promise<void> {
    const { appended, position } = encodedEntry(this.logId, this.last, { epoch, text })
    this.last = position
    return this.put(appended)
  }

  truncate(last: LogPosition): Promise<void> {
    this.last = last
    return this.mark({ kind: 'truncate', logId: this.logId, last })
  }

  restart(last: LogPosition): Promise<void> {
    this.last = last
    return this.mark({ kind: 'restart', logId: this.logId, last })
  }

  promise(epoch: number): Promise<void> {
    return this.mark({ kind: 'promise', logId: this.logId, epoch })
  }

  mark(mark: LogMark): Promise<void> {
    return this.put(appendedMark(mark))
  }

  /** Resolves when the row is durable. */
  put(row: AppendedRow): Promise<void> {
    const done = Promise.withResolvers<void>()
    this.#open.push({ row, done })
    if (this.#open.length === 1) this.#journal.ready(this, { isAwaited: true })
    return done.promise
  }

  take(): readonly AppendedRow[] {
    this.#flying = this.#open
    this.#open = []
    return this.#flying.map(({ row }) => row)
  }

  written(): void {
    for (const { done } of this.#flying.splice(0)) done.resolve()
  }

  failed(error: ServiceError): void {
    for (const { done } of [...this.#flying.splice(0), ...this.#open.splice(0)]) done.reject(error)
  }
}
