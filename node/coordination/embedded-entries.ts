// The entries of an embedded coordination store: in its KvStore, or in memory under a lease. A lease
// lives in the same process as its owner, so a restart ends it, and its keys need no disk.
//
// Invariants:
//   EE1  A key is stored or leased, never both.
//   EE2  The create revision of a key changes only when the key was absent.

import { must } from '../../lib/assert.ts'
import type { KvOp, KvStore } from '../storage/kv-store.ts'
import {
  REVISION_KEY,
  creationKey,
  creationRange,
  decodeEntry,
  decodeRevision,
  encodeCreation,
  encodeEntry,
  entryKey,
  entryRange,
  keyOfCreation,
} from './coordination-codec.ts'
import type { Change, CoordinationEntry, CoordinationListing } from './coordination.ts'
import type { KeyedEvent } from './event-history.ts'
import type { LeaseId } from './lease.ts'

interface LeasedEntry {
  readonly entry: CoordinationEntry
  readonly lease: LeaseId
}

/** What the keys hold now. The caller writes `opsOf` a change and then calls `settle` with it. */
export class EmbeddedEntries {
  readonly #store: KvStore
  readonly #leased = new Map<string, LeasedEntry>()

  constructor(store: KvStore) {
    this.#store = store
  }

  /** Of the last commit that was written, also if its caller heard of a failure. */
  get revision(): number {
    return decodeRevision(this.#store.get(REVISION_KEY))
  }

  read(key: string): CoordinationEntry | undefined {
    const leased = this.#leased.get(key)
    if (leased !== undefined) return leased.entry
    const stored = this.#store.get(entryKey(key))
    if (stored === undefined) return undefined
    return decodeEntry([entryKey(key), stored], this.#store.get(creationKey(key)))
  }

  async list(prefix: string): Promise<CoordinationListing> {
    const leased = [...this.#leased.values()].map(({ entry }) => entry)
    await using snapshot = this.#store.snapshot()
    const revision = decodeRevision(snapshot.get(REVISION_KEY))
    const creations = await Array.fromAsync(snapshot.pages(creationRange(prefix)))
    const creationOf = new Map(creations.flat().map(([key, value]) => [keyOfCreation(key), value]))
    const pages = await Array.fromAsync(snapshot.pages(entryRange(prefix)))
    const stored = pages.flat().map((found) => {
      return decodeEntry(found, creationOf.get(keyOfCreation(found[0])))
    })
    return { entries: merged(stored, leased, prefix), revision }
  }

  keysOf(lease: LeaseId): readonly string[] {
    return [...this.#leased.values()].filter((each) => each.lease === lease).map(keyOfLeased)
  }

  /** Whether `settle` of the change will add or remove a leased entry. */
  touchesLease(change: Change): boolean {
    return this.#leased.has(change.key) || (change.type === 'put' && change.lease !== undefined)
  }

  /** What makes the change durable. */
  opsOf(change: Change, revision: number): readonly KvOp[] {
    const { key } = change
    if (change.type === 'delete' || change.lease !== undefined) return this.#removalOf(key)
    const createRevision = this.read(key)?.createRevision ?? revision
    const entry = encodeEntry(key, change.value, revision)
    if (createRevision === revision) return [entry]
    return [entry, encodeCreation(key, { createRevision, modRevision: revision })]
  }

  /** The entry as the change leaves it. Ask before the change is written. */
  entryAfter(change: Change & { type: 'put' }, revision: number): CoordinationEntry {
    const { key, value } = change
    const createRevision = this.read(key)?.createRevision ?? revision
    return { key, value: Buffer.from(value), createRevision, modRevision: revision }
  }

  /** Brings the leased entries in step with a change that is durable now. */
  settle(change: Change, { event }: KeyedEvent): void {
    this.#leased.delete(change.key)
    if (change.type === 'delete' || change.lease === undefined) return
    const entry = must(event.kind === 'put' ? event.entry : undefined, 'the entry of a put')
    this.#leased.set(change.key, { entry, lease: change.lease })
  }

  #removalOf(key: string): readonly KvOp[] {
    if (this.#store.get(entryKey(key)) === undefined) return []
    return [
      { type: 'del', key: entryKey(key) },
      { type: 'del', key: creationKey(key) },
    ]
  }
}

function keyOfLeased({ entry }: LeasedEntry): string {
  return entry.key
}

function merged(
  stored: readonly CoordinationEntry[],
  leased: readonly CoordinationEntry[],
  prefix: string,
): readonly CoordinationEntry[] {
  const wanted = leased.filter(({ key }) => key.startsWith(prefix))
  if (wanted.length === 0) return stored
  return [...stored, ...wanted].toSorted((one, other) =>
    Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)),
  )
}
