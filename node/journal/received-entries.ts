// Checks entries that a leader encoded, before a follower appends them as they are. Pure.

import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'
import type { AppendedEntry } from './batch-writer.ts'
import {
  crcOfEntryInSteps,
  decodeRow,
  ROW_BYTES,
  rowKindOf,
  type EntryRow,
  type LogId,
} from './journal-format.ts'
import type { LogPosition } from './log-position.ts'

/** An entry as its leader's journal has it: the row of 32 bytes, and the body. */
export interface EncodedEntry {
  readonly row: Buffer
  readonly body: Uint8Array
}

/** Where the entries must continue. */
export interface ReceivingLog {
  readonly logId: LogId
  /** The entry before the first one. */
  readonly previous: LogPosition
}

/** An entry that was checked. The journal takes `appended`. */
export interface ReceivedEntry {
  readonly position: LogPosition
  /** The bytes of the body. */
  readonly bytes: number
  readonly appended: AppendedEntry
}

/**
 * Checks entries in their order: each is an entry of the log, is chained to the one before it, has
 * an epoch that is not lower, and has the crc of its bytes. So the journal of the follower will have
 * the leader's bytes, and its start will find nothing wrong with them. Whether the follower has
 * `previous`, and whether it may take entries of this leader, is for others to know.
 *
 * Throws CORRUPTION at the first entry that is wrong. Entries before it are not answered either.
 */
export function* checkReceivedEntries(
  { logId, previous }: ReceivingLog,
  entries: Iterable<EncodedEntry>,
): Sliced<readonly ReceivedEntry[]> {
  const received: ReceivedEntry[] = []
  let before = previous
  for (const { row, body } of entries) {
    const fields = rowOf(row, before)
    const wrong = wrongFieldOf(fields, { logId, bytes: body.length, before })
    if (wrong !== undefined) throw receivedError(before, wrong)
    const parts = [body]
    if ((yield* crcOfEntryInSteps(row, parts)) !== fields.crc) {
      throw receivedError(before, 'its checksum is not that of its bytes')
    }
    const { sequence, epoch, crc } = fields
    before = { sequence, epoch, crc }
    const appended = { logId, sequence, row, body: parts }
    received.push({ position: before, bytes: body.length, appended })
  }
  return received
}

function rowOf(row: Buffer, before: LogPosition): EntryRow {
  if (row.length !== ROW_BYTES) throw receivedError(before, 'its row has a wrong length')
  if (rowKindOf(row) !== 0) throw receivedError(before, 'its row is not that of an entry')
  return decodeRow(row)
}

interface Expected {
  readonly logId: LogId
  readonly bytes: number
  readonly before: LogPosition
}

function wrongFieldOf(row: EntryRow, { logId, bytes, before }: Expected): string | undefined {
  if (row.logId !== logId) return `it is an entry of log ${row.logId}`
  if (row.sequence !== before.sequence + 1) return `its sequence is ${row.sequence}`
  if (row.epoch < before.epoch) return `its epoch is ${row.epoch}, after ${before.epoch}`
  if (row.length !== bytes) return `its body has ${bytes} bytes of ${row.length}`
  if (row.previousCrc !== before.crc) return 'it is not chained to the entry before it'
  return undefined
}

function receivedError({ sequence }: LogPosition, what: string): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    `a received entry after entry ${sequence} is damaged: ${what}; its leader has to send it again`,
  )
}
