// Marks: rows of a batch that say something about a log. Format: docs/reference/formats/journal.md.

import { unreachable } from '../../lib/assert.ts'
import {
  crcOfEntry,
  encodeLogId,
  encodeUncheckedRow,
  setRowCrc,
  setRowKind,
  type EntryRow,
  type LogId,
} from './journal-format.ts'
import type { LogPosition } from './log-position.ts'

/** What a mark says of the log `logId`. */
export type LogMark =
  /** Entries after `last` whose rows come before the mark no longer count. */
  | { readonly kind: 'truncate'; readonly logId: LogId; readonly last: LogPosition }
  /** The replica follows no leader of an epoch below this one. */
  | { readonly kind: 'promise'; readonly logId: LogId; readonly epoch: number }
  /** Entries up to this one never go away. */
  | { readonly kind: 'committed'; readonly logId: LogId; readonly sequence: number }
  /** A snapshot up to `last` has replaced the log: no entry before the mark counts. */
  | { readonly kind: 'restart'; readonly logId: LogId; readonly last: LogPosition }

/** A mark as its log passes it to the journal, among the log's entries. */
export interface AppendedMark {
  readonly mark: LogMark
  readonly row: Buffer
  readonly body: readonly []
}

// The numbers are part of the disk format: add, never change.
const CODE_BY_KIND: Record<LogMark['kind'], number> = {
  truncate: 1,
  promise: 2,
  committed: 3,
  restart: 4,
}

const KIND_BY_CODE: ReadonlyMap<number, LogMark['kind']> = new Map([
  [CODE_BY_KIND.truncate, 'truncate'],
  [CODE_BY_KIND.promise, 'promise'],
  [CODE_BY_KIND.committed, 'committed'],
  [CODE_BY_KIND.restart, 'restart'],
])

const NO_BODY = [] as const

export function appendedMark(mark: LogMark): AppendedMark {
  const { sequence, epoch, crc } = fieldsOf(mark)
  const log = encodeLogId(mark.logId)
  const row = encodeUncheckedRow(log, { sequence, epoch, length: 0, previousCrc: crc })
  setRowKind(row, CODE_BY_KIND[mark.kind])
  return { mark, row: setRowCrc(row, crcOfEntry(row, NO_BODY)), body: NO_BODY }
}

function fieldsOf(mark: LogMark): LogPosition {
  switch (mark.kind) {
    case 'truncate':
    case 'restart':
      return mark.last
    case 'promise':
      return { sequence: 0, epoch: mark.epoch, crc: 0 }
    case 'committed':
      return { sequence: mark.sequence, epoch: 0, crc: 0 }
    default:
      return unreachable(mark)
  }
}

/** The mark in a row whose kind is `code`; undefined for a code that this version does not know. */
export function markOfRow(code: number, row: EntryRow): LogMark | undefined {
  const { logId, sequence, epoch, previousCrc: crc } = row
  const kind = KIND_BY_CODE.get(code)
  switch (kind) {
    case 'truncate':
    case 'restart':
      return { kind, logId, last: { sequence, epoch, crc } }
    case 'promise':
      return { kind, logId, epoch }
    case 'committed':
      return { kind, logId, sequence }
    case undefined:
    default:
      return undefined
  }
}
