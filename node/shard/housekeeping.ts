// What a leader does for its shard now and then: delete what has expired, collect what no reader
// needs, give documents the expiry of a changed policy. Each step is a bounded command of the log.

import { millisOf, timestampAtMs, type Timestamp } from '../clock/hybrid-clock.ts'
import type { KvStore } from '../storage/kv-store.ts'
import type { CollectCommand, RetimeCommand } from './apply/command.ts'
import { FINISHED_RETENTION_MS } from './apply/apply-transaction.ts'
import { checkRecord, isDeleted, ttlGenerationOf, versionOf } from './format/document-record.ts'
import {
  documentRange,
  expiryKey,
  finishedKey,
  keyOfDocumentKey,
  keyspaceRange,
  parseExpiryKey,
  RETIMED_KEY,
  sequenceOfLogKey,
  transactionIdOfFinishedKey,
} from './format/keyspace.ts'
import { encodeGeneration } from './apply/apply-housekeeping.ts'
import { decodeLogEntry, type Touch } from './format/log-entry.ts'
import { endOfLog } from './log-reader.ts'
import type { LocalShard } from './local-shard.ts'
import { buildTransactionId } from './transaction-id.ts'
import { effectiveExpiryMs } from './visibility.ts'

export const HOUSEKEEPING_BATCH_MAX = 1000
/** Expired documents are deleted this much later than they vanish, for clocks that differ. */
export const EXPIRY_GRACE_MS = 5000
export const EXPIRY_PERIOD_MS = 30_000
/** How long overwritten versions stay readable for scans, cursors and backups. */
export const HISTORY_RETENTION_MS = 600_000

/** An index that is further behind than this is rebuilt instead of holding the log up. */
export const LOG_KEPT_FOR_INDEXES_MAX = 1_000_000

const NO_RANDOM_BITS = '0'.repeat(16)

/** Deletes every document that expired more than the grace period ago; answers how many. */
export async function expireDue(shard: LocalShard, nowMs: number): Promise<number> {
  let deleted = 0
  const { ttl } = shard
  if (ttl === undefined) return 0
  const due = { ...keyspaceRange('expiry'), lt: expiryKey(nowMs - EXPIRY_GRACE_MS, NO_KEY) }
  let batch: { key: Buffer; expiresAtMs: number }[] = []
  const flush = async (): Promise<void> => {
    const candidates = batch
    batch = []
    const outcome = await shard.housekeep({
      kind: 'expire',
      generation: ttl.generation,
      candidates,
      nowMs,
    })
    deleted += outcome.deleted
  }
  for await (const page of shard.store.pages(due)) {
    for (const [stored] of page) {
      batch.push(parseExpiryKey(stored))
      if (batch.length === HOUSEKEEPING_BATCH_MAX) await flush()
    }
  }
  if (batch.length > 0) await flush()
  return deleted
}

const NO_KEY = Buffer.alloc(0)

/**
 * Works off the old end of the log up to `horizon`: an entry's touches name exactly the versions it
 * superseded, so nothing has to be searched. The newest entry stays, to carry the sequence over a restart,
 * and so do those that an index still needs.
 */
export async function collectHistory(shard: LocalShard, horizon: Timestamp): Promise<void> {
  for (;;) {
    const command = await buildCollect(shard, horizon)
    if (command.sequences.length <= 1 && command.finished.length === 0) return
    await shard.housekeep({ kind: 'collect', ...command })
    const { sequences, finished } = command
    if (Math.max(sequences.length, finished.length) < HOUSEKEEPING_BATCH_MAX) return
  }
}

async function buildCollect(shard: LocalShard, horizon: Timestamp): Promise<CollectCommand> {
  const { store } = shard
  const keptFrom = logKeptFrom(shard)
  const sequences: number[] = []
  const drops: CollectCommand['drops'][number][] = []
  const oldest = { ...keyspaceRange('log'), limit: HOUSEKEEPING_BATCH_MAX + 1 }
  for await (const page of store.pages(oldest)) {
    for (const [key, value] of page) {
      const { stamp, version, touches } = decodeLogEntry(value)
      const sequence = sequenceOfLogKey(key)
      const isNeeded = stamp >= horizon || sequence >= keptFrom
      if (isNeeded || sequences.length === HOUSEKEEPING_BATCH_MAX) break
      sequences.push(sequence)
      drops.push(...dropsOf(touches, version))
    }
  }
  const newest = await endOfLog(store, 'newest')
  return {
    sequences: sequences.filter((sequence) => sequence !== newest),
    drops,
    finished: await finishedBefore(store, millisOf(horizon) - 2 * FINISHED_RETENTION_MS),
  }
}

function logKeptFrom({ indexedUpTo, committedSequence }: LocalShard): number {
  return Math.max(indexedUpTo, committedSequence - LOG_KEPT_FOR_INDEXES_MAX) + 1
}

function dropsOf(touches: readonly Touch[], version: Timestamp): CollectCommand['drops'] {
  return touches
    .filter(({ deleted, previous }) => deleted || previous !== undefined)
    .map(({ key, deleted, previous }) => ({
      key,
      superseded: previous,
      tombstone: deleted ? version : undefined,
    }))
}

async function finishedBefore(store: KvStore, ms: number): Promise<CollectCommand['finished']> {
  const before = finishedKey(buildTransactionId(timestampAtMs(Math.max(0, ms)), NO_RANDOM_BITS))
  const range = { ...keyspaceRange('finished'), lt: before, limit: HOUSEKEEPING_BATCH_MAX }
  const found = []
  for await (const page of store.pages(range)) {
    for (const [key] of page) found.push(transactionIdOfFinishedKey(key))
  }
  return found
}

/** Gives every document the expiry of the shard's present policy. Safe to stop and start again. */
export async function retimeDocuments(shard: LocalShard, signal: AbortSignal): Promise<number> {
  const { ttl } = shard
  const generation = ttl?.generation ?? 0
  if (isRetimed(shard.store, generation)) return 0
  let changed = 0
  let batch: RetimeCommand['documents'][number][] = []
  const flush = async (completes: boolean): Promise<void> => {
    const documents = batch
    batch = []
    const command = { kind: 'retime', generation, documents, completes } as const
    changed += (await shard.housekeep(command)).changed
  }
  for await (const page of shard.store.pages(documentRange({ start: NO_KEY, end: undefined }))) {
    for (const [stored, record] of page) {
      if (signal.aborted || shard.ttl !== ttl) return changed
      if (isDeleted(checkRecord(record)) || ttlGenerationOf(record) === (generation & 0xffff)) {
        continue
      }
      const expiresAtMs = ttl === undefined ? 0 : effectiveExpiryMs(record, ttl)
      batch.push({ key: keyOfDocumentKey(stored), version: versionOf(record), expiresAtMs })
      if (batch.length === HOUSEKEEPING_BATCH_MAX) await flush(false)
    }
  }
  await flush(true)
  return changed
}

/** A shard without a mark has documents of generation 0 at most: those of a table without a TTL. */
function isRetimed(store: KvStore, generation: number): boolean {
  const mark = store.get(RETIMED_KEY)
  return mark === undefined ? generation === 0 : mark.equals(encodeGeneration(generation))
}
