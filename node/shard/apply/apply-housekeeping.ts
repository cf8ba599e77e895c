// Commands that the leader proposes on its own: expiry, retiming after a changed TTL, and the
// collection of what no reader can need. Each rechecks its premises, because documents may have
// changed between the leader's look and the entry.

import type { ApplyContext } from './apply-context.ts'
import { removeDocument } from './apply-documents.ts'
import type { CollectCommand, ExpireCommand, RetimeCommand } from './command.ts'
import {
  encodeRecord,
  expiresAtMsOf,
  isDeleted,
  jsonOf,
  ttlGenerationOf,
  versionOf,
  type DocumentRecord,
} from '../format/document-record.ts'
import {
  expiryKey,
  finishedKey,
  historyKey,
  logKey,
  RETIMED_KEY,
  SYNCED_KEY,
} from '../format/keyspace.ts'

/** Deletes documents whose expiry is still the one the leader saw. */
export function applyExpire(
  context: ApplyContext,
  { candidates, nowMs, generation }: ExpireCommand,
): { readonly deleted: number } {
  let deleted = 0
  for (const { key, expiresAtMs } of candidates) {
    const record = context.view.record(key)
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

export function applyRetime(
  context: ApplyContext,
  { generation, documents, completes }: RetimeCommand,
): { readonly changed: number } {
  let changed = 0
  for (const { key, version, expiresAtMs } of documents) {
    const record = context.view.record(key)
    if (record === undefined || isDeleted(record) || versionOf(record) !== version) continue
    retime(context, { key, record, generation, expiresAtMs })
    changed++
  }
  if (completes) context.view.put(RETIMED_KEY, encodeGeneration(generation))
  return { changed }
}

/** What RETIMED_KEY holds. */
export function encodeGeneration(generation: number): Buffer {
  return Buffer.from(String(generation))
}

const EMPTY = Buffer.alloc(0)

interface Retiming {
  readonly key: Buffer
  readonly record: DocumentRecord
  readonly generation: number
  readonly expiresAtMs: number
}

function retime({ view }: ApplyContext, { key, record, generation, expiresAtMs }: Retiming): void {
  const before = expiresAtMsOf(record)
  if (before !== 0) view.del(expiryKey(before, key))
  if (expiresAtMs !== 0) view.put(expiryKey(expiresAtMs, key), EMPTY)
  const header = { version: versionOf(record), deleted: false, ttlGeneration: generation }
  view.putRecord(key, encodeRecord({ ...header, expiresAtMs }, jsonOf(record)))
}

/** Its own entry is all it is for: once that is synced, so is everything before it. */
export function applySync(context: ApplyContext): undefined {
  context.view.put(SYNCED_KEY, EMPTY)
}

export function applyCollect(context: ApplyContext, command: CollectCommand): undefined {
  const { view } = context
  for (const { key, superseded, tombstone } of command.drops) {
    if (superseded !== undefined) view.del(historyKey(key, superseded))
    if (tombstone === undefined) continue
    const record = view.record(key)
    if (record !== undefined && isDeleted(record) && versionOf(record) === tombstone) {
      view.deleteRecord(key)
    }
  }
  for (const sequence of command.sequences) view.del(logKey(sequence))
  for (const transactionId of command.finished) view.del(finishedKey(transactionId))
}

function isFree({ memory }: ApplyContext, key: Buffer): boolean {
  return memory.locks.blocker(key, 'write') === undefined
}
