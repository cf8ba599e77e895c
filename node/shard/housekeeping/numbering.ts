// Ordinals for the documents that programs without ordinals wrote. The leader walks the shard once and
// proposes them in pieces (HK1 of pieces.ts); the indexes take those documents in again, because
// their entries touch them.

import { checkRecord, isDeleted, ordinalOf } from '../format/document-record.ts'
import { documentRange, keyOfDocumentKey, UNNUMBERED_KEY } from '../format/keyspace.ts'
import type { LedShard } from '../led-shard.ts'
import { Pieces } from './pieces.ts'

const ALL = { start: Buffer.alloc(0), end: undefined }

/**
 * Gives every document of the shard an ordinal; answers how many got theirs here. Safe to stop and
 * start again. Nothing to do costs one look into the store.
 */
export async function numberDocuments(shard: LedShard, signal: AbortSignal): Promise<number> {
  if (shard.store.get(UNNUMBERED_KEY) === undefined) return 0
  // The last entries without an ordinal were in the journal at most, and are in the store now.
  await shard.settled()
  let changed = 0
  const pieces = new Pieces<Buffer>(async (keys) => {
    changed += (await shard.housekeep({ kind: 'number', keys, completes: false })).changed
  })
  for await (const page of shard.store.pages(documentRange(ALL))) {
    for (const [stored, record] of page) {
      if (signal.aborted) return changed
      if (isDeleted(checkRecord(record)) || ordinalOf(record) !== undefined) continue
      await pieces.add(Buffer.from(keyOfDocumentKey(stored)), record.length)
    }
  }
  await pieces.flush()
  await shard.housekeep({ kind: 'number', keys: [], completes: true })
  return changed
}
