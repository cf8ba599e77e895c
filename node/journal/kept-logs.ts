// Reads what the journal holds of several logs, in one pass over its segments.

import { ServiceError } from '../../lib/errors.ts'
import type { ReadableJournal } from './journal-reader.ts'
import { decodeSegmentHeader, type EntryRow, type LogId } from './journal-format.ts'
import type { LogMark } from './log-mark.ts'
import type { LogPosition } from './log-position.ts'
import type { Segment } from './journal-segment.ts'
import {
  damagedError,
  rowsOf,
  scanSegment,
  type ChainPosition,
  type ScannedRow,
} from './segment-scan.ts'

/** What the journal holds of one log, without the bodies. */
export interface KeptLog {
  /** The rows of the entries that count, in order. */
  readonly rows: readonly EntryRow[]
  /** The last entry in the snapshot that replaced the log's beginning; undefined without one. */
  readonly restartedAt: LogPosition | undefined
  /** CORRUPTION for a truncation after an entry that the log does not have. */
  readonly damage?: ServiceError | undefined
}

/**
 * Reads the rows of these logs. Holds one segment in memory at a time. Nothing may be appended
 * meanwhile. Throws CORRUPTION for what has become unreadable since the start. Logs without rows are
 * not among the result.
 */
export async function readKeptLogs(
  journal: ReadableJournal,
  logIds: ReadonlySet<LogId>,
): Promise<ReadonlyMap<LogId, KeptLog>> {
  const pass = new Pass(logIds)
  for (const segment of journal.content.segments) {
    const file = await journal.directory.open(segment.name)
    try {
      pass.take(await file.read(0, await file.size()), segment)
    } finally {
      await file.close()
    }
  }
  return pass.logs
}

/** The logs that a pass collects, and where the next segment must continue. */
class Pass {
  readonly logs = new Map<LogId, CollectedLog>()
  readonly #logIds: ReadonlySet<LogId>
  #position: ChainPosition | undefined

  constructor(logIds: ReadonlySet<LogId>) {
    this.#logIds = logIds
  }

  take(bytes: Buffer, { name, number, lastBatch }: Segment): void {
    const header = decodeSegmentHeader(bytes, number)
    if (header === undefined) throw damagedError(name, 0, 'its header is not readable')
    const { firstBatch, previousCrc, salt } = header
    this.#position ??= { nextBatch: firstBatch, previousCrc }
    const chain = { bytes, salt, from: this.#position }
    const { end, position } = scanSegment(chain, (batch) => {
      for (const row of rowsOf(batch, name)) this.#takeRow(row, name)
    })
    if (position.nextBatch <= lastBatch) throw damagedError(name, end, 'a batch is not readable')
    this.#position = position
  }

  #takeRow(row: ScannedRow, name: string): void {
    const { logId } = row.mark ?? row.entry
    if (!this.#logIds.has(logId)) return
    const log = this.logs.get(logId) ?? new CollectedLog()
    this.logs.set(logId, log)
    if (row.mark === undefined) log.rows.push(row.entry)
    else log.obey(row.mark, name)
  }
}

class CollectedLog implements KeptLog {
  readonly rows: EntryRow[] = []
  restartedAt: LogPosition | undefined
  damage: ServiceError | undefined

  obey(mark: LogMark, name: string): void {
    if (mark.kind === 'truncate') this.#truncate(mark.last, name)
    if (mark.kind !== 'restart') return
    this.rows.length = 0
    this.restartedAt = mark.last
  }

  #truncate({ sequence, crc, epoch }: LogPosition, name: string): void {
    let last = this.rows.at(-1)
    while (last !== undefined && last.sequence > sequence) {
      this.rows.pop()
      last = this.rows.at(-1)
    }
    if (last === undefined) return // the entry was in a segment that is gone, or in a snapshot
    if (last.sequence === sequence && last.crc === crc && last.epoch === epoch) return
    this.damage ??= new ServiceError(
      'CORRUPTION',
      `${name} of the journal truncates log ${last.logId} after entry ${sequence} of epoch ` +
        `${epoch}, which the log does not have; build the replica anew from another one`,
    )
  }
}
