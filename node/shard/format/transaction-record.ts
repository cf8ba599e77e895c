// The one record that decides a transaction, and the short mark that outlives it.
// Described in docs/reference/formats/shard.md.
//
//   (absent) ──prepare with begin──► pending ──decide──► committed | aborted ──forget──► finished mark
//       └───────────abandon───────────────────────────────────────────────────────────►──┘
//
// Invariants:
//   INV-T1  A decided record never changes: `decide` writes only over `pending`.
//   INV-T6  A record goes only after every participant has confirmed its resolution.

import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { ByteReader, ByteWriter } from './byte-codec.ts'
import type { Decision, KeyInterval, TransactionStatus } from '../command/command.ts'

/** 2: participants are key intervals; in format 1 each is a single key. */
const RECORD_FORMAT = 2
const RECORD_FORMAT_OF_KEYS = 1
const MARK_FORMAT = 1
const PENDING = 0
const COMMITTED = 1
const ABORTED = 2

/** The state of a transaction at its anchor shard, with everybody who must learn it. */
export interface TransactionRecord {
  readonly status: TransactionStatus
  readonly participants: readonly KeyInterval[]
}

export function encodeTransactionRecord({ status, participants }: TransactionRecord): Buffer {
  const writer = writeStatus(new ByteWriter().u8(RECORD_FORMAT), status).u16(participants.length)
  for (const { tableId, first, last } of participants) {
    writer.shortBytes(Buffer.from(tableId)).shortBytes(first).shortBytes(last)
  }
  return writer.done()
}

export function decodeTransactionRecord(bytes: Buffer): TransactionRecord {
  const reader = new ByteReader(bytes, 'transaction record')
  const format = reader.oneOfFormats([RECORD_FORMAT, RECORD_FORMAT_OF_KEYS])
  const status = readStatus(reader)
  const participants = Array.from({ length: reader.u16() }, () => {
    const tableId = reader.shortBytes().toString()
    const first = reader.shortBytes()
    // Shards were never split while records of single keys were written, so the key finds the shard.
    return { tableId, first, last: format === RECORD_FORMAT ? reader.shortBytes() : first }
  })
  return { status, participants }
}

/** The mark that every participant keeps for an hour, so that late messages find the end (INV-T7). */
export function encodeFinishedMark(decision: Decision): Buffer {
  return writeStatus(new ByteWriter().u8(MARK_FORMAT), decision).done()
}

export function decodeFinishedMark(bytes: Buffer): Decision {
  const status = readStatus(new ByteReader(bytes, 'finished mark').format(MARK_FORMAT))
  if (status.state === 'pending') {
    throw new ServiceError('CORRUPTION', 'finished mark: a pending transaction')
  }
  return status
}

function writeStatus(writer: ByteWriter, status: TransactionStatus): ByteWriter {
  switch (status.state) {
    case 'pending':
      return writer.u8(PENDING)
    case 'aborted':
      return writer.u8(ABORTED)
    case 'committed':
      return writer.u8(COMMITTED).timestamp(status.commitTs)
    default:
      return unreachable(status)
  }
}

function readStatus(reader: ByteReader): TransactionStatus {
  const state = reader.u8()
  if (state === PENDING) return { state: 'pending' }
  if (state === ABORTED) return { state: 'aborted' }
  if (state !== COMMITTED) throw new ServiceError('CORRUPTION', `unknown state ${state}`)
  const commitTs: Timestamp = reader.timestamp()
  return { state: 'committed', commitTs }
}
