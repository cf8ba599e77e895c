// What one replica has for the journal: marks, entries of another leader, and the groups of this one.

import { must } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { ServiceError } from '../../../lib/errors.ts'
import type { AppendedEntry, AppendedRow } from '../../journal/batch-writer.ts'
import type { Journal } from '../../journal/journal.ts'
import type { LogId } from '../../journal/journal-format.ts'
import type { JournalSource } from '../../journal/journal-source.ts'

const RETRY_MS = 250

/** What the rows work with. */
export interface JournalRowsOptions {
  readonly logId: LogId
  readonly journal: Pick<Journal, 'ready' | 'hurry'>
  readonly clock: Clock
  /**
   * Called when the journal takes a group of the source, before the group is written. What it returns is
   * called when the group is durable.
   */
  readonly onTaken: (entries: readonly AppendedEntry[]) => () => void
}

/** A row and what is called when it is durable. */
interface QueuedRow {
  readonly row: AppendedRow
  readonly onDurable: (() => void) | undefined
}

/**
 * A source of the journal. Rows are written in the order of `push`, and a group of the source after all
 * rows that were pushed before. While the disk is full, the rows wait: what a replica has told others it
 * cannot take back.
 */
export class JournalRows implements JournalSource {
  readonly logId: LogId
  readonly companions: Iterable<JournalSource> = []
  readonly #with: JournalRowsOptions
  /** The groups of the leader. Undefined while nothing is ready there. */
  #source: JournalSource | undefined
  #queued: QueuedRow[] = []
  #taken: QueuedRow[] = []
  #isAnnounced = false
  #trouble: ServiceError | undefined

  constructor(options: JournalRowsOptions) {
    this.logId = options.logId
    this.#with = options
  }

  /** Why the journal took nothing at the last try. */
  get trouble(): ServiceError | undefined {
    return this.#trouble
  }

  get readyBytes(): number {
    return this.#queued.reduce(
      (sum, queued) => sum + bytesOf(queued),
      this.#source?.readyBytes ?? 0,
    )
  }

  get readyEntries(): number {
    return this.#queued.length + (this.#source?.readyEntries ?? 0)
  }

  /** `onDurable` is called once, when the row is on disk. */
  push(row: AppendedRow, onDurable?: () => void): void {
    this.#queued.push({ row, onDurable })
    this.#announce(true)
  }

  /** The source has a group. The journal takes it behind the rows that were pushed. */
  offer(source: JournalSource, isAwaited: boolean): void {
    this.#source = source
    this.#announce(isAwaited)
  }

  /** The source has nothing any more: its groups were refused. */
  withdraw(): void {
    this.#source = undefined
  }

  take(): readonly AppendedRow[] {
    this.#isAnnounced = false
    const queued = this.#queued
    this.#queued = []
    const entries = this.#source?.take() ?? []
    this.#source = undefined
    this.#taken = queued
    if (entries.length > 0) {
      const onDurable = this.#with.onTaken(withoutMarks(entries))
      const last = entries.length - 1
      for (const [i, row] of entries.entries()) {
        this.#taken.push({ row, onDurable: i === last ? onDurable : undefined })
      }
    }
    return this.#taken.map(({ row }) => row)
  }

  written(): void {
    this.#trouble = undefined
    for (const { onDurable } of this.#taken.splice(0)) onDurable?.()
  }

  failed(error: ServiceError): void {
    this.#isAnnounced = false
    this.#trouble = error
    this.#queued = [...this.#taken.splice(0), ...this.#queued]
    // Every other failure ends the process.
    if (error.code !== 'DISK_FULL') return
    void this.#with.clock.sleep(RETRY_MS).then(() => this.#announce(true))
  }

  #announce(isAwaited: boolean): void {
    if (this.readyEntries === 0) return
    const { journal } = this.#with
    if (!this.#isAnnounced) {
      this.#isAnnounced = true
      journal.ready(this, { isAwaited })
    } else if (isAwaited) journal.hurry()
  }
}

function bytesOf({ row }: QueuedRow): number {
  return row.mark === undefined ? row.body.reduce((sum, part) => sum + part.length, 0) : 0
}

function withoutMarks(rows: readonly AppendedRow[]): readonly AppendedEntry[] {
  return rows.map((row) => must(row.mark === undefined ? row : undefined, 'an entry of a group'))
}
