// Collects the history that no reader needs any more. It walks the old end of the log up to a horizon. The
// touches of an entry name exactly the versions that it superseded, so no search is necessary.
//
// Invariants:
//   HC1  A version goes only with, or after, a mark (COLLECTED_KEY) that refuses readers who need it.
//   HC2  An entry goes only with or after the last of what it touched: a crash leaves nothing behind.
//   HC3  The newest entry stays, to carry the sequence over a restart, and so do those that an index
//        still needs.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { StepMeter } from '../../../lib/sliced.ts'
import { millisOf, timestampAtMs, type Timestamp } from '../../clock/hybrid-clock.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import type { CollectCommand } from '../command/command.ts'
import { FINISHED_RETENTION_MS } from '../apply/apply-transaction.ts'
import { isDeleted, versionOf } from '../format/document-record.ts'
import {
  documentKey,
  finishedKey,
  keyspaceRange,
  sequenceOfLogKey,
  transactionIdOfFinishedKey,
} from '../format/keyspace.ts'
import { openLogEntry, type Touch } from '../format/log-entry.ts'
import { PacedReader, Pieces } from './pieces.ts'
import { endOfLog } from '../format/stored-log.ts'
import type { LedShard } from '../led-shard.ts'
import { buildTransactionId, type TransactionId } from '../command/transaction-id.ts'

/** How long overwritten versions stay readable for scans, cursors and backups. */
export const HISTORY_RETENTION_MS = 600_000
/** An index that is further behind than this is rebuilt instead of holding the log up. */
const LOG_KEPT_FOR_INDEXES_MAX = 1_000_000

const NO_RANDOM_BITS = '0'.repeat(16)
/** About a millisecond of looking at touches. */
const TOUCHES_PER_STEP = 2000
/** The cost of dropping a tombstone, because applying the command reads its record again. */
const TOMBSTONE_BYTES = 4096

type Drop = CollectCommand['drops'][number]
type Item =
  | { readonly kind: 'drop'; readonly drop: Drop; readonly stamp: Timestamp }
  | { readonly kind: 'entry'; readonly sequence: number }
  | { readonly kind: 'mark'; readonly transactionId: TransactionId }

/** An aborted signal ends the collection early. The next collection continues from there. */
export async function collectHistory(
  shard: LedShard,
  horizon: Timestamp,
  signal?: AbortSignal,
): Promise<void> {
  let proposed = 0
  const pieces = new Pieces<Item>(async (items) => {
    // Each collection adds an entry itself: dropping nothing but the one before it would never end.
    if (proposed === 0 && items.length === 1 && items[0]?.kind === 'entry') return
    proposed++
    await shard.housekeep({ kind: 'collect', ...commandOf(items) })
  })
  await shard.settled()
  const newest = await endOfLog(shard.store, 'newest')
  const keptFrom = logKeptFrom(shard)
  const reader = new PacedReader(shard.store)
  const meter = new StepMeter(TOUCHES_PER_STEP)
  for await (const [sequence, value] of oldestEntries(shard.store)) {
    const { stamp, version, touches } = openLogEntry(value)
    if (stamp >= horizon || sequence >= keptFrom) break
    for (const touch of touches) {
      if (signal?.aborted === true) return
      const drop = await dropOf(reader, touch, version)
      if (drop !== undefined) await pieces.add({ kind: 'drop', drop, stamp }, bytesOf(drop))
      if (meter.spend(1)) await nextTurn()
    }
    if (sequence !== newest) await pieces.add({ kind: 'entry', sequence }, 0)
  }
  const before = millisOf(horizon) - 2 * FINISHED_RETENTION_MS
  for await (const transactionId of finishedBefore(shard.store, before)) {
    await pieces.add({ kind: 'mark', transactionId }, 0)
  }
  await pieces.flush()
}

async function* oldestEntries(store: KvStore): AsyncGenerator<readonly [number, Buffer]> {
  for await (const page of store.pages(keyspaceRange('log'))) {
    for (const [key, value] of page) yield [sequenceOfLogKey(key), value]
  }
}

function logKeptFrom({ indexedUpTo, appliedSequence }: LedShard): number {
  return Math.max(indexedUpTo, appliedSequence - LOG_KEPT_FOR_INDEXES_MAX) + 1
}

/** The records that a touch made superfluous. A tombstone counts only while it is the newest record. */
async function dropOf(
  reader: PacedReader,
  { key, deleted, previous }: Touch,
  version: Timestamp,
): Promise<Drop | undefined> {
  const record = deleted ? await reader.get(documentKey(key)) : undefined
  const isTombstone = record !== undefined && isDeleted(record) && versionOf(record) === version
  if (previous === undefined && !isTombstone) return undefined
  return { key, superseded: previous, tombstone: isTombstone ? version : undefined }
}

function bytesOf({ key, tombstone }: Drop): number {
  return key.length + (tombstone === undefined ? 0 : TOMBSTONE_BYTES)
}

function commandOf(items: readonly Item[]): CollectCommand {
  const drops: Drop[] = []
  const sequences: number[] = []
  const finished: TransactionId[] = []
  let upTo: Timestamp | undefined
  for (const item of items) {
    if (item.kind === 'entry') sequences.push(item.sequence)
    else if (item.kind === 'mark') finished.push(item.transactionId)
    else {
      drops.push(item.drop)
      upTo = item.stamp // stamps increase along the log
    }
  }
  return { upTo, drops, sequences, finished, artifacts: [] }
}

async function* finishedBefore(store: KvStore, ms: number): AsyncGenerator<TransactionId> {
  const before = finishedKey(buildTransactionId(timestampAtMs(Math.max(0, ms)), NO_RANDOM_BITS))
  for await (const page of store.pages({ ...keyspaceRange('finished'), lt: before })) {
    for (const [key] of page) yield transactionIdOfFinishedKey(key)
  }
}
