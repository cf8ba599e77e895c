// What earlier data directories lack. In format 1 a shard's log had no journal behind it: LevelDB's
// own log held whatever was acknowledged. In format 2 documents had no ordinals.

import { assert } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { KvStore, KvStoreFactory } from '../storage/kv-store.ts'
import { encodeApplied, NOTHING_APPLIED } from './format/applied-position.ts'
import { APPLIED_KEY, keyspaceRange, sequenceOfLogKey, UNNUMBERED_KEY } from './format/keyspace.ts'

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

/**
 * Notes in all stores that they may have documents without an ordinal, which are numbered beside the
 * traffic (housekeeping/numbering.ts). May be interrupted and begun again.
 */
export async function markUnnumbered(stores: KvStoreFactory): Promise<void> {
  for (const name of await stores.list()) {
    await using store = await stores.open(name)
    const mark = { type: 'put', key: UNNUMBERED_KEY, value: Buffer.alloc(0) } as const
    await store.write([mark], { sync: true })
    // LevelDB's own log is not read again.
    await store.flush()
  }
}

async function convertStore(store: KvStore): Promise<void> {
  if (store.get(APPLIED_KEY) === undefined) {
    const sequence = await lastSequence(store)
    const applied = encodeApplied({ ...NOTHING_APPLIED, sequence })
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
