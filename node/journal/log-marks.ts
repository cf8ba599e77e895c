// The marks of all logs that count, and what they do to entries. Format: docs/reference/formats/journal.md.
//
// Invariants:
//   M1  A log is never truncated below its committed sequence: committed entries would be lost.
//   M2  The largest promise of a log counts, wherever it is, and so does the largest committed sequence. A
//       restart below that is of a replica that was built anew: what its forerunner had committed is forgotten.
//   M3  A cut is forgotten only with its segment. The entries that it removes go before that.
//   M4  Marks of a log that was forgotten while their batch was written count no more: the next replica of that log
//       begins with nothing.

import { assert } from '../../lib/assert.ts'
import type { LogId } from './journal-format.ts'
import { appendedMark, type AppendedMark, type LogMark } from './log-mark.ts'

/** The durable state of a replica beside its entries. Zero where no mark says more. */
export interface LogState {
  /** The highest epoch that the replica has promised to follow. */
  readonly promised: number
  /** Entries up to here never go away. */
  readonly committed: number
}

/** The place of a row: batches by their numbers, rows by their order in the batch. */
export interface RowPlace {
  readonly segment: number
  readonly batch: number
  readonly row: number
}

/** Entries before the place no longer count if their sequence is above `after`. */
interface Cut extends RowPlace {
  readonly after: number
}

/** A value, and the newest segment that has it. */
interface Kept {
  value: number
  segment: number
}

interface KnownLog {
  readonly promised: Kept
  readonly committed: Kept
  /** In the order of their places. */
  cuts: Cut[]
}

/** Sequences are not negative, so no entry before the cut counts. */
const NOTHING = -1

/** Tracks the marks of each log that has any. */
export class LogMarks {
  readonly #logs = new Map<LogId, KnownLog>()
  /** Committed sequences without a mark. They wait for the next batch. */
  readonly #noted = new Map<LogId, number>()
  /** Forgotten since the batch that is being written was put together (M4). */
  readonly #forgotten = new Set<LogId>()

  get isEmpty(): boolean {
    return this.#logs.size === 0
  }

  /** The number of logs whose committed sequence waits for a batch. */
  get notedCount(): number {
    return this.#noted.size
  }

  /** The next batch will have a mark of this, if it is news. */
  note(logId: LogId, sequence: number): void {
    if (sequence > this.#committedOf(logId)) this.#noted.set(logId, sequence)
  }

  /** A batch is put together. The one before it is durable, or has failed. */
  beginBatch(): void {
    this.#forgotten.clear()
  }

  /** Takes at most `count` of the noted sequences, as marks. */
  takeNoted(count: number): readonly AppendedMark[] {
    const marks: AppendedMark[] = []
    for (const [logId, sequence] of this.#noted) {
      if (marks.length === count) break
      this.#noted.delete(logId)
      marks.push(appendedMark({ kind: 'committed', logId, sequence }))
    }
    return marks
  }

  stateOf(logId: LogId): LogState {
    const known = this.#logs.get(logId)
    return { promised: known?.promised.value ?? 0, committed: known?.committed.value ?? 0 }
  }

  /** Throws an InvariantError for a mark that must not be written (M1). */
  assertAllowed(mark: LogMark): void {
    const { promised } = this.stateOf(mark.logId)
    const committed = this.#committedOf(mark.logId)
    switch (mark.kind) {
      case 'truncate':
      case 'restart':
        return assert(
          mark.last.sequence >= committed,
          `a log is truncated at or above its committed sequence: log ${mark.logId}, ` +
            `after ${mark.last.sequence}, committed ${committed}`,
        )
      case 'promise':
        return assert(mark.epoch >= promised, `promised epochs of log ${mark.logId} never decrease`)
      case 'committed':
        return
    }
  }

  /** Adds a mark that is durable. Marks are added in the order of their places. */
  add(mark: LogMark, place: RowPlace): void {
    if (this.#forgotten.has(mark.logId)) return // M4
    const known = this.#known(mark.logId)
    switch (mark.kind) {
      case 'truncate':
        known.cuts.push({ ...place, after: mark.last.sequence })
        return
      case 'restart':
        known.cuts.push({ ...place, after: NOTHING })
        known.committed.value = Math.min(known.committed.value, mark.last.sequence)
        return
      case 'promise':
        return raise(known.promised, mark.epoch, place.segment)
      case 'committed':
        return raise(known.committed, mark.sequence, place.segment)
    }
  }

  /** Whether an entry of the log counts, as far as marks say. */
  counts(logId: LogId, sequence: number, { batch, row }: Omit<RowPlace, 'segment'>): boolean {
    const cuts = this.#logs.get(logId)?.cuts
    if (cuts === undefined) return true
    return cuts.every(
      (cut) => sequence <= cut.after || cut.batch < batch || (cut.batch === batch && cut.row < row),
    )
  }

  /** The promises and committed sequences that count and have no row in a segment after this one. */
  endingIn(segment: number): readonly AppendedMark[] {
    const marks: AppendedMark[] = []
    for (const [logId, { promised, committed }] of this.#logs) {
      if (promised.value > 0 && promised.segment <= segment) {
        marks.push(appendedMark({ kind: 'promise', logId, epoch: promised.value }))
      }
      if (committed.value > 0 && committed.segment <= segment) {
        marks.push(appendedMark({ kind: 'committed', logId, sequence: committed.value }))
      }
    }
    return marks
  }

  /** The segment and all before it are gone (M3). */
  forgetCutsIn(segment: number): void {
    for (const known of this.#logs.values()) {
      if (known.cuts.length > 0) known.cuts = known.cuts.filter((cut) => cut.segment > segment)
    }
  }

  forget(logId: LogId): void {
    this.#logs.delete(logId)
    this.#noted.delete(logId)
    this.#forgotten.add(logId)
  }

  retainOnly(logIds: ReadonlySet<LogId>): void {
    for (const logId of this.#logs.keys()) if (!logIds.has(logId)) this.forget(logId)
  }

  /** The committed sequence, durable or not. */
  #committedOf(logId: LogId): number {
    return Math.max(this.stateOf(logId).committed, this.#noted.get(logId) ?? 0)
  }

  #known(logId: LogId): KnownLog {
    const known = this.#logs.get(logId) ?? {
      promised: { value: 0, segment: 0 },
      committed: { value: 0, segment: 0 },
      cuts: [],
    }
    this.#logs.set(logId, known)
    return known
  }
}

/** M2. An equal value moves to the newer segment. */
function raise(kept: Kept, value: number, segment: number): void {
  if (value < kept.value) return
  kept.value = value
  kept.segment = segment
}
