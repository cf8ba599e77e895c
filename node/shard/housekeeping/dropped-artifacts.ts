// Collects the artifacts of indexes that were dropped, the marks of parked ones, and how far they were made. A leader
// finds the ids in its store that its table does not have, and drops what is theirs in pieces (HK1 of pieces.ts). Artifacts of deleted documents go with their
// tombstones (apply-housekeeping.ts).
//
// Invariant:
//   DA1  Only what no index of the table reads is dropped: the id of a dropped index never comes back, and the id
//        of a new index is on its way to this node for a moment at most, which is far less than UNKNOWN_MS_MIN.

import type { CollectCommand } from '../command/command.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import {
  indexedRange,
  indexOfProgressKey,
  keyspaceRange,
  parseIndexedKey,
  PROGRESS_RANGE,
  progressKey,
  type IndexKeyspace,
} from '../format/keyspace.ts'
import type { LedShard } from '../led-shard.ts'
import { Pieces } from './pieces.ts'

/** An id that this node has not known for ten minutes is that of a dropped index. */
export const UNKNOWN_MS_MIN = 600_000

const NOTHING: CollectCommand = {
  upTo: undefined,
  sequences: [],
  drops: [],
  finished: [],
  artifacts: [],
}

/** Remembers since when ids are unknown. One instance serves all shards of a node. */
export class DroppedArtifacts {
  /** By shard and index id: monotonic milliseconds. */
  readonly #unknownSinceMs = new WeakMap<LedShard, ReadonlyMap<string, number>>()

  /** Answers how many keys were dropped. An aborted signal ends it early. */
  async collect(shard: LedShard, nowMs: number, signal?: AbortSignal): Promise<number> {
    const before = this.#unknownSinceMs.get(shard)
    const unknown = new Map<string, number>()
    for (const id of await unknownIds(shard)) unknown.set(id, before?.get(id) ?? nowMs)
    this.#unknownSinceMs.set(shard, unknown)
    let dropped = 0
    for (const [id, sinceMs] of unknown) {
      if (nowMs - sinceMs >= UNKNOWN_MS_MIN) dropped += await dropAll(shard, id, signal)
    }
    return dropped
  }
}

const KEYSPACES_OF_INDEXES: readonly IndexKeyspace[] = ['artifacts', 'parked']

async function unknownIds({ store, indexes }: LedShard): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const keyspace of KEYSPACES_OF_INDEXES) await addIds(found, store, keyspace)
  for await (const page of store.pages(PROGRESS_RANGE)) {
    for (const [stored] of page) found.add(indexOfProgressKey(stored))
  }
  for (const { id } of indexes) found.delete(id)
  return found
}

/** One seek for each index that has something in the keyspace. */
async function addIds(ids: Set<string>, store: KvStore, keyspace: IndexKeyspace): Promise<void> {
  const { lt, ...all } = keyspaceRange(keyspace)
  for (let { gte } = all; ;) {
    const [page = []] = await Array.fromAsync(store.pages({ gte, lt, limit: 1 }))
    const stored = page[0]?.[0]
    if (stored === undefined) return
    const { index } = parseIndexedKey(stored)
    ids.add(index)
    gte = indexedRange(keyspace, index).lt
  }
}

async function dropAll(shard: LedShard, id: string, signal?: AbortSignal): Promise<number> {
  let dropped = 0
  const pieces = new Pieces<Buffer>(async (artifacts) => {
    await shard.housekeep({ kind: 'collect', ...NOTHING, artifacts })
    dropped += artifacts.length
  })
  for await (const stored of keysOf(shard.store, id)) {
    if (signal?.aborted === true) return dropped
    await pieces.add(Buffer.from(stored), stored.length)
  }
  await pieces.flush()
  return dropped
}

async function* keysOf(store: KvStore, id: string): AsyncGenerator<Buffer, undefined> {
  for (const keyspace of KEYSPACES_OF_INDEXES) {
    for await (const page of store.pages(indexedRange(keyspace, id))) {
      for (const [stored] of page) yield stored
    }
  }
  const progress = progressKey(id)
  if (store.get(progress) !== undefined) yield progress
}
