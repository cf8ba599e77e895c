// A leader deletes the expired documents of its shard, and gives documents the expiry of a changed
// policy. Each step is a command of bounded cost (HK1 of pieces.ts).
// History is collected by history-collection.ts.

import type { KvStore } from '../../storage/kv-store.ts'
import type { ExpireCommand, RetimeCommand } from '../command/command.ts'
import { checkRecord, isDeleted, ttlGenerationOf, versionOf } from '../format/document-record.ts'
import {
  documentKey,
  documentRange,
  expiryKey,
  keyOfDocumentKey,
  keyspaceRange,
  parseExpiryKey,
  RETIMED_KEY,
} from '../format/keyspace.ts'
import { encodeGeneration } from '../apply/apply-housekeeping.ts'
import { inTurns, PacedReader, Pieces } from './pieces.ts'
import type { LedShard } from '../led-shard.ts'
import { effectiveExpirySliced } from '../format/visibility.ts'

/** Expired documents are deleted this much later than they vanish, for clocks that differ. */
export const EXPIRY_GRACE_MS = 5000
export const EXPIRY_PERIOD_MS = 30_000
/**
 * Deletes every document that expired more than the grace period ago; answers how many. An aborted
 * signal ends it early.
 */
export async function expireDue(
  shard: LedShard,
  nowMs: number,
  signal?: AbortSignal,
): Promise<number> {
  const { ttl, store } = shard
  if (ttl === undefined) return 0
  const { generation } = ttl
  await shard.settled()
  let deleted = 0
  const reader = new PacedReader(store)
  const pieces = new Pieces<ExpireCommand['candidates'][number]>(async (candidates) => {
    const outcome = await shard.housekeep({ kind: 'expire', generation, candidates, nowMs })
    deleted += outcome.deleted
  })
  const due = { ...keyspaceRange('expiry'), lt: expiryKey(nowMs - EXPIRY_GRACE_MS, NO_KEY) }
  for await (const page of store.pages(due)) {
    for (const [stored] of page) {
      if (signal?.aborted === true) return deleted
      const candidate = parseExpiryKey(stored)
      const document = await reader.get(documentKey(candidate.key))
      await pieces.add(candidate, document?.length ?? 0) // it moves to history
    }
  }
  await pieces.flush()
  return deleted
}

const NO_KEY = Buffer.alloc(0)

/** Gives every document the expiry of the shard's present policy. Safe to stop and start again. */
export async function retimeDocuments(shard: LedShard, signal: AbortSignal): Promise<number> {
  const { ttl } = shard
  const generation = ttl?.generation ?? 0
  if (isRetimed(shard.store, generation)) return 0
  // What was checked under the earlier policy and is on its way lands before the walk begins; what
  // lands later is given the present one (see intentOutcome).
  await shard.housekeep({ kind: 'retime', generation, documents: [], completes: false })
  let changed = 0
  const pieces = new Pieces<RetimeCommand['documents'][number]>(async (documents) => {
    const command = { kind: 'retime', generation, documents, completes: false } as const
    changed += (await shard.housekeep(command)).changed
  })
  for await (const page of shard.store.pages(documentRange({ start: NO_KEY, end: undefined }))) {
    for (const [stored, record] of page) {
      if (signal.aborted || shard.ttl !== ttl) return changed
      if (isDeleted(checkRecord(record)) || ttlGenerationOf(record) === (generation & 0xffff)) {
        continue
      }
      const expiresAtMs = ttl === undefined ? 0 : await inTurns(effectiveExpirySliced(record, ttl))
      const key = keyOfDocumentKey(stored)
      await pieces.add({ key, version: versionOf(record), expiresAtMs }, record.length)
    }
  }
  await pieces.flush()
  await shard.housekeep({ kind: 'retime', generation, documents: [], completes: true })
  return changed
}

/** A shard without a mark has documents of generation 0 at most: those of a table without a TTL. */
function isRetimed(store: KvStore, generation: number): boolean {
  const mark = store.get(RETIMED_KEY)
  return mark === undefined ? generation === 0 : mark.equals(encodeGeneration(generation))
}
