// Builds what a replica's core starts with, from the journal and the position of the shard's store.
//
// Invariants:
//   RL1  Entries from the base of the index on are chained without a gap, and epochs never decrease.
//   RL2  The index reaches what the store has applied and what is committed: neither went away.
//   RL3  No entry has an epoch above the promised one, because promises are on disk before entries.

import { ServiceError } from '../../../lib/errors.ts'
import type { EntryRow, LogId } from '../../journal/journal-format.ts'
import type { Journal } from '../../journal/journal.ts'
import type { KeptLog } from '../../journal/kept-logs.ts'
import type { LogState } from '../../journal/log-marks.ts'
import { LogIndex, type EntryInfo, type LogPosition } from '../core/log-index.ts'
import type { ReplicaStart } from '../core/replica-context.ts'

/** The log of a replica at a start. */
export type ReplicaLog = Pick<ReplicaStart, 'log' | 'promised' | 'committed'>

/** What is known of one replica's log. */
export interface ReplicaLogParts {
  readonly logId: LogId
  /** The last entry that the shard's store has applied. The store has committed entries alone. */
  readonly applied: LogPosition
  /** What the journal holds; undefined if it holds nothing of the log. */
  readonly kept: KeptLog | undefined
  readonly state: LogState
}

/**
 * Reads the logs of these replicas, in one pass over the journal: for each log the last entry that
 * its store has applied. Call it before anything is appended. A log that is damaged has its
 * CORRUPTION as value, so that the others open.
 */
export async function openReplicaLogs(
  journal: Pick<Journal, 'keptLogs' | 'stateOf'>,
  applied: ReadonlyMap<LogId, LogPosition>,
): Promise<ReadonlyMap<LogId, ReplicaLog | ServiceError>> {
  const kept = await journal.keptLogs(new Set(applied.keys()))
  const opened = new Map<LogId, ReplicaLog | ServiceError>()
  for (const [logId, position] of applied) {
    const parts = { logId, applied: position, kept: kept.get(logId), state: journal.stateOf(logId) }
    opened.set(
      logId,
      valueOrCorruption(() => buildReplicaLog(parts)),
    )
  }
  return opened
}

/**
 * Throws CORRUPTION if entries are missing between the store and the journal or in the journal, are
 * not chained (RL1), or contradict the marks (RL2, RL3). Then the replica has to be built anew from
 * another one.
 */
export function buildReplicaLog({ logId, applied, kept, state }: ReplicaLogParts): ReplicaLog {
  if (kept?.damage !== undefined) throw kept.damage
  const { base, rows } = joined(logId, applied, kept)
  const { promised } = state
  let previous = base
  for (const row of rows) {
    assertFollows(row, previous)
    previous = row
  }
  if (previous.epoch > promised) {
    throw damaged(
      logId,
      `has entry ${previous.sequence} of epoch ${previous.epoch}, and epoch ${promised} is promised`,
    )
  }
  if (previous.sequence < state.committed) {
    throw damaged(logId, `ends at entry ${previous.sequence}, and ${state.committed} is committed`)
  }
  const log = new LogIndex(base, rows.values().map(infoOf))
  return { log, promised, committed: Math.max(state.committed, applied.sequence) }
}

/** What the first entry of every log is chained to. */
const BEFORE_ALL: LogPosition = { sequence: 0, epoch: 0, crc: 0 }

/** The base of the index, and the rows after it. */
interface Joined {
  readonly base: LogPosition
  readonly rows: readonly EntryRow[]
}

/**
 * Joins the journal's entries to the store: the base is the first entry that the journal has, or the
 * beginning of the log, if the store's one is among those after it. Otherwise it is the store's.
 */
function joined(logId: LogId, applied: LogPosition, kept: KeptLog | undefined): Joined {
  assertAfterSnapshot(logId, applied, kept?.restartedAt)
  const rows = kept?.rows ?? []
  const first = rows[0]
  if (first === undefined || first.sequence > applied.sequence) return { base: applied, rows }
  const own = rows[applied.sequence - first.sequence]
  if (own === undefined) {
    throw damaged(logId, `ends before entry ${applied.sequence}, which its store has applied`)
  }
  if (!isSame(own, applied)) {
    throw damaged(logId, `has another entry ${applied.sequence} than its store`)
  }
  // The whole log is there: a replica that has nothing yet can be brought up to date from it.
  if (first.sequence === 1 && first.previousCrc === 0) return { base: BEFORE_ALL, rows }
  const { sequence, epoch, crc } = first
  return { base: { sequence, epoch, crc }, rows: rows.slice(1) }
}

/** A store that does not have the snapshot after which its log begins is not the log's store. */
function assertAfterSnapshot(
  logId: LogId,
  applied: LogPosition,
  restartedAt: LogPosition | undefined,
): void {
  if (restartedAt === undefined || applied.sequence > restartedAt.sequence) return
  if (isSame(restartedAt, applied)) return
  throw damaged(
    logId,
    `begins after entry ${restartedAt.sequence} of epoch ${restartedAt.epoch}, ` +
      `and its store ends at entry ${applied.sequence} of epoch ${applied.epoch}`,
  )
}

function isSame(a: LogPosition, b: LogPosition): boolean {
  return a.sequence === b.sequence && a.epoch === b.epoch && a.crc === b.crc
}

function assertFollows(row: EntryRow, { sequence, epoch, crc }: LogPosition): void {
  const { logId } = row
  if (row.sequence !== sequence + 1) {
    throw damaged(logId, `has entry ${row.sequence} after entry ${sequence}`)
  }
  if (row.previousCrc !== crc) {
    throw damaged(logId, `has an entry ${row.sequence} that is not chained to the one before it`)
  }
  if (row.epoch < epoch) {
    throw damaged(logId, `has entry ${row.sequence} of epoch ${row.epoch} after epoch ${epoch}`)
  }
}

function infoOf({ sequence, epoch, crc, length }: EntryRow): EntryInfo {
  return { sequence, epoch, crc, bytes: length }
}

function damaged(logId: LogId, what: string): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    `log ${logId} of the journal ${what}; build the replica anew from another one`,
  )
}

function valueOrCorruption<T>(build: () => T): T | ServiceError {
  try {
    return build()
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
}
