// The memory of the control plane: membership, shard map, metadata. It never holds documents. The
// words are etcd's, because etcd holds it beyond one machine; a KvStore holds it in one process.

import { ServiceError } from '../../lib/errors.ts'
import type { Lease, LeaseId } from './lease.ts'

export const KEY_BYTES_MAX = 1024
export const VALUE_BYTES_MAX = 1024 * 1024
/**
 * The limit of all keys and values of one commit, those of its conditions too. etcd accepts requests
 * of at most 1.5 MiB.
 */
export const COMMIT_BYTES_MAX = 1280 * 1024
/**
 * The limit of conditions, and of changes. etcd's default limit for a transaction is 128, and the
 * operation id takes one of them.
 */
export const OPS_PER_COMMIT_MAX = 127
/** How many events a slow watcher may lag behind. Beyond that its watch ends as compacted. */
export const WATCH_BUFFER_MAX = 1024

/** The stored value of one key. */
export interface CoordinationEntry {
  readonly key: string
  readonly value: Buffer
  /** The revision of the commit that created the key. Overwriting the key keeps it. */
  readonly createRevision: number
  /** The revision of the commit that last wrote the key. */
  readonly modRevision: number
}

/** The entries under one prefix, all of the same state. */
export interface CoordinationListing {
  /** In byte order of the keys. */
  readonly entries: readonly CoordinationEntry[]
  /** The revision of the last commit that the listing shows. */
  readonly revision: number
  /** The store's own id, if it has one that a restore may change. */
  readonly store?: string
}

/**
 * Holds if the key was last written at `modRevision`, or was created at `createRevision`. 0 means
 * that the key is absent.
 */
export type Condition =
  | { readonly key: string; readonly modRevision: number }
  | { readonly key: string; readonly createRevision: number }

export type Change =
  /** The key goes with the lease, or stays until it is deleted if the put names no lease. */
  | {
      readonly type: 'put'
      readonly key: string
      readonly value: Uint8Array
      readonly lease?: LeaseId
    }
  | { readonly type: 'delete'; readonly key: string }

/** Changes that take effect together if all conditions hold. */
export interface Commit {
  readonly when: readonly Condition[]
  readonly changes: readonly Change[]
}

export type CommitOutcome =
  | { readonly kind: 'committed'; readonly revision: number }
  /** The current entries of the conditions' keys. A key that is absent has no entry. */
  | { readonly kind: 'conflict'; readonly entries: readonly CoordinationEntry[] }

export type CoordinationEvent =
  | { readonly kind: 'put'; readonly entry: CoordinationEntry }
  | { readonly kind: 'delete'; readonly key: string; readonly revision: number }
  /**
   * Some events are missing from here on, and the watch has ended. List again and watch from there.
   */
  | { readonly kind: 'compacted' }

/**
 * Keys and values under one revision that only grows.
 *
 * Contract, checked for every implementation by test/conformance/coordination.ts:
 * - `scope` is `process` if no other process can reach the keys while this one has them open, and
 *   `cluster` if others can. In a cluster, a start may not treat all earlier coordinators as dead.
 * - `commit` checks all conditions and applies all changes, or none. It is durable when it resolves
 *   with `committed`. A conflict is a value, not an error.
 * - A commit that changes something gets a greater revision than every commit before it, and all its
 *   changes share it. Revisions may have gaps, because others may share the store. Deleting an absent
 *   key changes nothing, and nobody sees an event of it.
 * - `get` and `list` show every commit that resolved before the call. They show a commit whole or
 *   not at all.
 * - Concurrent commits take effect one after the other, and each sees those before it.
 * - `watch` yields each change under `prefix` with a revision of at least `fromRevision` once, in
 *   order of revision. The changes of one commit keep their order. So a listing continues without a
 *   gap in a watch from its revision + 1.
 * - A watch yields `compacted` and ends if its consumer lags by more than WATCH_BUFFER_MAX or the
 *   requested past is gone. An aborted signal ends a watch without an event.
 * - An empty or too long key, a too large value or commit, and two changes of one key are
 *   INVALID_ARGUMENT. Nothing has changed then.
 * - A commit takes effect at most once. If its answer can be lost, the implementation writes a unique
 *   operation id along in the same transaction. It looks that id up before it answers, so `committed`
 *   and `conflict` are always true.
 * - A commit that fails with UNAVAILABLE has an unknown outcome: nobody could be asked in time. It
 *   may also take effect later, until the next commit by way of this object has been answered. A
 *   caller that must know puts an id of its own into the value and reads it.
 * - No call waits longer than the implementation's deadline. A watch and a lease outlive an outage of
 *   the store: the watch continues where it was, and the lease says when it is lost.
 * - `grantLease` answers a lease with whole seconds of life, which renews itself. Contract: `Lease`.
 * - A commit that attaches a key to a lease that is gone fails with NOT_FOUND and changes nothing.
 * - After `close` every method fails with UNAVAILABLE, also a watch that is still open.
 */
export interface Coordination extends AsyncDisposable {
  readonly scope: 'process' | 'cluster'
  get(key: string): Promise<CoordinationEntry | undefined>
  list(prefix: string): Promise<CoordinationListing>
  commit(commit: Commit): Promise<CommitOutcome>
  watch(prefix: string, fromRevision: number, signal: AbortSignal): AsyncIterable<CoordinationEvent>
  grantLease(ttlSeconds: number): Promise<Lease>
  close(): Promise<void>
}

/**
 * Throws INVALID_ARGUMENT for a commit beyond the limits of the contract. Every implementation
 * calls it.
 */
export function checkCommit({ when, changes }: Commit): void {
  checkCount('conditions', when.length)
  checkCount('changes', changes.length)
  let bytes = 0
  for (const { key } of when) bytes += checkedKeyBytes(key)
  const changed = new Set<string>()
  for (const change of changes) {
    bytes += checkedKeyBytes(change.key) + checkedValueBytes(change)
    if (changed.has(change.key)) throw invalid(`the key "${change.key}" is changed twice`)
    changed.add(change.key)
  }
  if (bytes > COMMIT_BYTES_MAX) {
    throw invalid(`a commit holds at most ${COMMIT_BYTES_MAX} bytes, not ${bytes}; divide it`)
  }
}

/** Throws INVALID_ARGUMENT for a key that is empty, too long or not well-formed. */
export function checkKey(key: string): void {
  checkedKeyBytes(key)
}

function checkedKeyBytes(key: string): number {
  const bytes = Buffer.byteLength(key)
  if (bytes > 0 && bytes <= KEY_BYTES_MAX && key.isWellFormed()) return bytes
  throw invalid(`a key is well-formed text of 1 to ${KEY_BYTES_MAX} bytes; this one has ${bytes}`)
}

function checkedValueBytes(change: Change): number {
  if (change.type === 'delete') return 0
  const { key, value } = change
  if (value.length <= VALUE_BYTES_MAX) return value.length
  throw invalid(`the value of "${key}" has ${value.length} bytes; at most ${VALUE_BYTES_MAX} fit`)
}

function checkCount(what: string, count: number): void {
  if (count <= OPS_PER_COMMIT_MAX) return
  throw invalid(`a commit has at most ${OPS_PER_COMMIT_MAX} ${what}, not ${count}; divide it`)
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}
