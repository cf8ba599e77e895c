// Commands that the leader proposes on its own: expiry, retiming after a changed TTL, ordinals for
// documents without one, and the collection of what no reader can need. Each rechecks its premises, because documents may have
// changed between the leader's look and the entry.

import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { ApplyContext } from './apply-context.ts'
import { READ_BYTES_PER_STEP, READ_COST, removeDocument } from './apply-documents.ts'
import { dropArtifacts } from './put-artifacts.ts'
import type {
  CollectCommand,
  ExpireCommand,
  NumberCommand,
  RetimeCommand,
} from '../command/command.ts'
import {
  encodeRecord,
  expiresAtMsOf,
  isDeleted,
  jsonOf,
  ordinalOf,
  ttlGenerationOf,
  versionOf,
  withOrdinal,
  type DocumentRecord,
} from '../format/document-record.ts'
import { encodeCollected } from '../format/collected-mark.ts'
import {
  COLLECTED_KEY,
  expiryKey,
  finishedKey,
  historyKey,
  logKey,
  RETIMED_KEY,
  UNNUMBERED_KEY,
} from '../format/keyspace.ts'

/** Drops in about a millisecond. */
const DROPS_PER_STEP = 256

/** Deletes documents whose expiry is still the one the leader saw. */
export function* applyExpire(
  context: ApplyContext,
  { candidates, nowMs, generation }: ExpireCommand,
): Sliced<{ readonly deleted: number }> {
  const meter = new StepMeter(READ_BYTES_PER_STEP)
  let deleted = 0
  for (const { key, expiresAtMs } of candidates) {
    const record = context.view.record(key)
    if (meter.spend(READ_COST + (record?.length ?? 0))) yield
    if (record === undefined || isDeleted(record) || expiresAtMsOf(record) !== expiresAtMs) {
      context.view.del(expiryKey(expiresAtMs, key)) // an index entry without its document
    } else if (
      expiresAtMs <= nowMs &&
      ttlGenerationOf(record) === (generation & 0xffff) &&
      isFree(context, key)
    ) {
      removeDocument(context, key, context.stamp)
      deleted++
    }
  }
  return { deleted }
}

export function* applyRetime(
  context: ApplyContext,
  { generation, documents, completes }: RetimeCommand,
): Sliced<{ readonly changed: number }> {
  const meter = new StepMeter(READ_BYTES_PER_STEP)
  let changed = 0
  for (const { key, version, expiresAtMs } of documents) {
    const record = context.view.record(key)
    if (meter.spend(READ_COST + (record?.length ?? 0))) yield
    if (record === undefined || isDeleted(record) || versionOf(record) !== version) continue
    retime(context, { key, record, generation, expiresAtMs })
    changed++
  }
  if (completes) context.view.put(RETIMED_KEY, encodeGeneration(generation))
  return { changed }
}

/** Encodes the value under RETIMED_KEY. */
export function encodeGeneration(generation: number): Buffer {
  return Buffer.from(String(generation))
}

interface Retiming {
  readonly key: Buffer
  readonly record: DocumentRecord
  readonly generation: number
  readonly expiresAtMs: number
}

function retime({ view }: ApplyContext, { key, record, generation, expiresAtMs }: Retiming): void {
  const same = { version: versionOf(record), deleted: false, ordinal: ordinalOf(record) }
  const header = { ...same, ttlGeneration: generation, expiresAtMs }
  view.retime(key, encodeRecord(header, jsonOf(record)))
}

/** Gives ordinals to those of the documents that have none; D4 of apply-documents.ts holds. */
export function* applyNumber(
  { view }: ApplyContext,
  { keys, completes }: NumberCommand,
): Sliced<{ readonly changed: number }> {
  const meter = new StepMeter(READ_BYTES_PER_STEP)
  let changed = 0
  for (const key of keys) {
    const record = view.record(key)
    if (meter.spend(READ_COST + (record?.length ?? 0))) yield
    if (record === undefined || isDeleted(record) || ordinalOf(record) !== undefined) continue
    const ordinal = view.takeOrdinal()
    if (ordinal === undefined) break
    view.retime(key, withOrdinal(record, ordinal))
    changed++
  }
  if (completes) view.del(UNNUMBERED_KEY)
  return { changed }
}

export function* applyCollect(context: ApplyContext, command: CollectCommand): Sliced<undefined> {
  const { view } = context
  const meter = new StepMeter(DROPS_PER_STEP)
  for (const drop of command.drops) {
    if (meter.spend(1)) yield
    applyDrop(context, drop)
  }
  for (const stored of command.artifacts) {
    view.del(stored)
    if (meter.spend(1)) yield
  }
  if (command.upTo !== undefined) view.put(COLLECTED_KEY, encodeCollected(command.upTo))
  for (const sequence of command.sequences) view.del(logKey(sequence))
  for (const transactionId of command.finished) view.del(finishedKey(transactionId))
  return undefined
}

function applyDrop(
  context: ApplyContext,
  { key, superseded, tombstone }: CollectCommand['drops'][number],
): void {
  const { view } = context
  if (superseded !== undefined) view.del(historyKey(key, superseded))
  const record = tombstone === undefined ? undefined : view.record(key)
  if (record === undefined || !isDeleted(record) || versionOf(record) !== tombstone) return
  view.dropRecord(key)
  dropArtifacts(context, key)
}

function isFree({ memory }: ApplyContext, key: Buffer): boolean {
  return memory.locks.blocker(key, 'write') === undefined
}
