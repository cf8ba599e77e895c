// The control plane's memory: membership, shard map, metadata. Never documents. The words are
// etcd's, because beyond one machine etcd keeps it; embedded, a KvStore does.

import { ServiceError } from '../../lib/errors.ts'

export const KEY_BYTES_MAX = 1024
export const VALUE_BYTES_MAX = 1024 * 1024
/** Keys and values of one commit together: etcd takes requests of at most 1.5 MiB. */
export const COMMIT_BYTES_MAX = 1280 * 1024
/** Of conditions, and of changes: etcd's default limit on a transaction. */
export const OPS_PER_COMMIT_MAX = 128
/** Events a slow watcher may lag behind before its watch ends as compacted. */
export const WATCH_BUFFER_MAX = 1024

export interface CoordinationEntry {
  readonly key: string
  readonly value: Buffer
  /** The revision of the commit that last wrote the key. */
  readonly modRevision: number
}

export interface CoordinationListing {
  /** In byte order of the keys. */
  readonly entries: readonly CoordinationEntry[]
  /** The state listed is the one after this commit. */
  readonly revision: number
}

/** Holds if the key was last written at `modRevision`; 0 means that the key is absent. */
export interface Condition {
  readonly key: string
  readonly modRevision: number
}

export type Change =
  | { readonly type: 'put'; readonly key: string; readonly value: Uint8Array }
  | { readonly type: 'delete'; readonly key: string }

export interface Commit {
  readonly when: readonly Condition[]
  readonly changes: readonly Change[]
}

export type CommitOutcome =
  | { readonly kind: 'committed'; readonly revision: number }
  /** What the conditions' keys hold instead; an absent key is left out. */
  | { readonly kind: 'conflict'; readonly entries: readonly CoordinationEntry[] }

export type CoordinationEvent =
  | { readonly kind: 'put'; readonly entry: CoordinationEntry }
  | { readonly kind: 'delete'; readonly key: string; readonly revision: number }
  /** Events are missing from here on. The watch is over: list again, and watch from there. */
  | { readonly kind: 'compacted' }

/**
 * Keys and values under one revision that only grows.
 *
 * Contract, checked for every implementation by test/conformance/coordination.ts:
 * - `scope` is `process` where no other process can reach the keys while this one has them open, and
 *   `cluster` where others may: then nobody may take the coordinators of a last life for dead.
 * - `commit` checks all conditions and applies all changes, or none; it is durable when it
 *   resolves with `committed`. A conflict is a value, not an error.
 * - A commit that changes something gets the next revision, shared by all its changes. Deleting an
 *   absent key changes nothing; a commit that changes nothing keeps the revision.
 * - `get` and `list` show every commit that resolved before the call; any commit whole or not at
 *   all.
 * - Concurrent commits take effect one after the other, and each sees those before it.
 * - `watch` yields the changes under `prefix` with a revision of at least `fromRevision`, in order
 *   of revision, those of one commit in the order of its changes, each exactly once. So a listing
 *   is followed without a gap by watching from its revision + 1.
 * - A watch that cannot do that, because its consumer lags by more than WATCH_BUFFER_MAX or the
 *   past is gone, yields `compacted` and ends. An aborted signal ends it silently.
 * - An empty or too long key, a too large value or commit, and two changes of one key are
 *   INVALID_ARGUMENT, and nothing has changed.
 * - A failed `commit` may have taken effect. Put a unique id into the value, and read it to know.
 * - After `close` every method fails with UNAVAILABLE, also a watch that is still open.
 */
export interface Coordination extends AsyncDisposable {
  readonly scope: 'process' | 'cluster'
  get(key: string): Promise<CoordinationEntry | undefined>
  list(prefix: string): Promise<CoordinationListing>
  commit(commit: Commit): Promise<CommitOutcome>
  watch(prefix: string, fromRevision: number, signal: AbortSignal): AsyncIterable<CoordinationEvent>
  close(): Promise<void>
}

/** Refuses a commit beyond the limits of the contract. For implementations. */
export function checkCommit({ when, changes }: Commit): void {
  checkCount('conditions', when.length)
  checkCount('changes', changes.length)
  for (const { key } of when) checkKey(key)
  const changed = new Set<string>()
  let bytes = 0
  for (const change of changes) {
    checkKey(change.key)
    if (changed.has(change.key)) throw invalid(`the key "${change.key}" is changed twice`)
    changed.add(change.key)
    bytes += Buffer.byteLength(change.key) + checkedValueBytes(change)
  }
  if (bytes > COMMIT_BYTES_MAX) {
    throw invalid(`a commit holds at most ${COMMIT_BYTES_MAX} bytes, not ${bytes}; divide it`)
  }
}

export function checkKey(key: string): void {
  const bytes = Buffer.byteLength(key)
  if (bytes > 0 && bytes <= KEY_BYTES_MAX && key.isWellFormed()) return
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
