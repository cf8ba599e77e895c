// Stores of data directories of format 1, in which a shard's log had no journal behind it: LevelDB's
// own log held whatever was acknowledged.

import { assert } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { KvStore, KvStoreFactory } from '../storage/kv-store.ts'
import { encodeApplied } from './format/applied-position.ts'
import { APPLIED_KEY, keyspaceRange, sequenceOfLogKey } from './format/keyspace.ts'

/** More entries than fitted into LevelDB's log before it became a table. */
const CHECKED_ENTRIES_MAX = 100_000

/**
 * Makes all stores such that they hold their log without LevelDB's own. `stores` must replay that one when
 * it opens. May be interrupted and begun again. Throws CORRUPTION for a store that has lost entries.
 */
export async function convertStores(stores: KvStoreFactory): Promise<void> {
  for (const name of await stores.list()) {
    await using store = await stores.open(name)
    await convertStore(store)
  }
}

async function convertStore(store: KvStore): Promise<void> {
  if (store.get(APPLIED_KEY) === undefined) {
    const sequence = await lastSequence(store)
    const applied = encodeApplied({ sequence, epoch: 0, crc: 0 })
    await store.write([{ type: 'put', key: APPLIED_KEY, value: applied }], { sync: true })
  }
  await store.flush()
}

/** LevelDB skips damaged parts of its own log without a word; a hole in our sequence shows it. */
async function lastSequence(store: KvStore): Promise<number> {
  const back = { ...keyspaceRange('log'), reverse: true, limit: CHECKED_ENTRIES_MAX }
  let newest: number | undefined
  let expected = 0
  for await (const page of store.pages(back)) {
    for (const [key] of page) {
      const sequence = sequenceOfLogKey(key)
      newest ??= sequence
      if (newest === sequence) expected = sequence
      assert(sequence <= expected, 'entries are walked backwards')
      if (sequence !== expected) {
        throw new ServiceError(
          'CORRUPTION',
          `log entry ${expected} is missing: the store lost writes; restore it from a backup`,
        )
      }
      expected--
    }
  }
  return newest ?? 0
}
