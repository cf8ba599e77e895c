// The answers to commands. Format: docs/reference/formats/shard-calls.md.

import { unreachable } from '../../../../lib/assert.ts'
import type {
  Decision,
  PrepareOutcome,
  Refusal,
  TransactionStatus,
  WriteOutcome,
} from '../../command/command.ts'
import type { AnsweringVersion } from '../../following/index-health.ts'
import type { ShardCondition, ShardStats } from '../../shard.ts'
import {
  readAddress,
  readTransactionId,
  writeAddress,
  writeTransactionId,
} from './command-codec.ts'
import { malformed, type WireReader } from './wire-reader.ts'
import type { WireWriter } from './wire-writer.ts'

const DONE = 0
const VERSION_CHANGED = 1
const KEY_HELD = 2
const FINISHED = 3
const PENDING = 0
const COMMITTED = 1
const ABORTED = 2
const CONDITIONS = ['serving', 'read_only', 'failed'] as const

export function writeWriteOutcome(out: WireWriter, outcome: WriteOutcome): void {
  if (outcome.kind === 'written') out.u8(DONE).timestamp(outcome.version)
  else writeRefusal(out, outcome)
}

export function readWriteOutcome(from: WireReader): WriteOutcome {
  const kind = from.oneOf([DONE, VERSION_CHANGED, KEY_HELD])
  if (kind === DONE) return { kind: 'written', version: from.timestamp() }
  return readRefusal(from, kind)
}

export function writePrepareOutcome(out: WireWriter, outcome: PrepareOutcome): void {
  if (outcome.kind === 'prepared') out.u8(DONE).timestamp(outcome.commitAtLeast)
  else if (outcome.kind === 'finished') out.u8(FINISHED)
  else writeRefusal(out, outcome)
}

export function readPrepareOutcome(from: WireReader): PrepareOutcome {
  const kind = from.oneOf([DONE, VERSION_CHANGED, KEY_HELD, FINISHED])
  if (kind === DONE) return { kind: 'prepared', commitAtLeast: from.timestamp() }
  return kind === FINISHED ? { kind: 'finished' } : readRefusal(from, kind)
}

function writeRefusal(out: WireWriter, refusal: Refusal): void {
  switch (refusal.kind) {
    case 'version-changed':
      return void out.u8(VERSION_CHANGED).key(refusal.key).timestamp(refusal.found)
    case 'key-held':
      writeTransactionId(out.u8(KEY_HELD).key(refusal.key), refusal.holder.transactionId)
      return writeAddress(out, refusal.holder.anchor)
    default:
      return unreachable(refusal)
  }
}

function readRefusal(from: WireReader, kind: typeof VERSION_CHANGED | typeof KEY_HELD): Refusal {
  const key = from.key()
  if (kind === VERSION_CHANGED) return { kind: 'version-changed', key, found: from.timestamp() }
  const transactionId = readTransactionId(from)
  return { kind: 'key-held', key, holder: { transactionId, anchor: readAddress(from) } }
}

export function writeStatus(out: WireWriter, status: TransactionStatus): void {
  switch (status.state) {
    case 'pending':
      return void out.u8(PENDING)
    case 'aborted':
      return void out.u8(ABORTED)
    case 'committed':
      return void out.u8(COMMITTED).timestamp(status.commitTs)
    default:
      return unreachable(status)
  }
}

export function readStatus(from: WireReader): TransactionStatus {
  const state = from.oneOf([PENDING, COMMITTED, ABORTED])
  if (state === PENDING) return { state: 'pending' }
  if (state === ABORTED) return { state: 'aborted' }
  return { state: 'committed', commitTs: from.timestamp() }
}

export function readDecision(from: WireReader): Decision {
  const status = readStatus(from)
  if (status.state === 'pending') throw malformed('a decision that is pending')
  return status
}

export function writeStats(out: WireWriter, { diskBytes, empty, indexVersions }: ShardStats): void {
  out.number(diskBytes).boolean(empty).u32(indexVersions.length)
  for (const { index, version } of indexVersions) out.text(index).number(version)
}

export function readStats(from: WireReader): ShardStats {
  const stats = { diskBytes: from.amount(), empty: from.boolean() }
  const indexVersions: AnsweringVersion[] = []
  for (let left = from.u32(); left > 0; left--) {
    indexVersions.push({ index: from.text(), version: from.amount() })
  }
  return { ...stats, indexVersions }
}

export function writeCondition(out: WireWriter, condition: ShardCondition): void {
  out.u8(CONDITIONS.indexOf(condition.kind))
  if (condition.kind !== 'serving') out.text(condition.reason)
  if (condition.kind !== 'failed') out.number(condition.documentsBehind)
}

export function readCondition(from: WireReader): ShardCondition {
  const kind = CONDITIONS[from.oneOf([0, 1, 2])] ?? 'serving'
  if (kind === 'serving') return { kind, documentsBehind: from.amount() }
  const reason = from.text()
  return kind === 'failed' ? { kind, reason } : { kind, reason, documentsBehind: from.amount() }
}
