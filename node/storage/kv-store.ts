// The only interface to the disk for keys and values. All durable data of shards goes through a
// KvStore.

import type { ServiceError } from '../../lib/errors.ts'

export type KvOp =
  | { readonly type: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: 'del'; readonly key: Uint8Array }

/** Bounds in unsigned byte order: `gte` or `gt` below, `lt` or `lte` above; absent means open. */
export interface KvRange {
  readonly gte?: Uint8Array
  readonly gt?: Uint8Array
  readonly lt?: Uint8Array
  readonly lte?: Uint8Array
  readonly reverse?: boolean
  /** The limit of entries in all pages together. */
  readonly limit?: number
}

export type KvEntry = readonly [key: Buffer, value: Buffer]

/**
 * A frozen view of a store. It keeps overwritten data on disk, so dispose it as soon as possible.
 */
export interface KvSnapshot extends AsyncDisposable {
  get(key: Uint8Array): Buffer | undefined
  pages(range: KvRange): AsyncIterable<readonly KvEntry[]>
}

/**
 * An ordered map from bytes to bytes.
 *
 * Contract, checked for every implementation by test/conformance/kv-store.ts:
 * - `get` is synchronous: it answers from memory or costs one disk read. An absent key is
 *   undefined.
 * - `write` applies all of its operations or none, in order; the last operation on a key wins. With
 *   `sync: true` it resolves once the operations survive a power failure.
 * - When `flush` resolves, every write that had resolved before the call survives a power failure.
 * - Concurrent `write`s are each atomic and apply in the order of the calls.
 * - `snapshot` is taken at the call; later writes are invisible to its `get` and `pages`.
 * - `pages` walks unsigned byte order (or its reverse) over the state at the call of `pages`, not
 *   at the first `next`. Pages have at least one entry and about 256 KiB. Leaving the loop early
 *   frees the iterator.
 * - The caller may not change or reuse the buffers of a `write` until it has resolved. The caller
 *   owns the buffers that it receives.
 * - `generation` changes before the next write is admitted if the fate of a failed write may have
 *   changed. A caller that caches the store's content must then read it again.
 * - A full disk is ServiceError DISK_FULL; a damaged file is CORRUPTION. After `close` every method
 *   fails with UNAVAILABLE. `close` waits for running writes and may be called twice.
 * - `damage` is the first CORRUPTION that a read or a write has met; undefined while there is none.
 */
export interface KvStore extends AsyncDisposable {
  readonly generation: number
  readonly damage?: ServiceError | undefined
  get(key: Uint8Array): Buffer | undefined
  write(ops: readonly KvOp[], options: { readonly sync: boolean }): Promise<void>
  flush(): Promise<void>
  snapshot(): KvSnapshot
  pages(range: KvRange): AsyncIterable<readonly KvEntry[]>
  /** The bytes on disk in the range, roughly. Recent writes may be missing from the sum. */
  approximateBytes(range: KvRange): Promise<number>
  close(): Promise<void>
}

/** Hears which store was compacted, and the bytes of its files before and after it. */
export type OnCompacted = (
  name: string,
  bytes: { readonly bytesBefore: number; readonly bytesAfter: number },
) => void

/**
 * Opens and removes stores by name, so that a shard depends neither on LevelDB nor on files.
 * - `open` creates a missing directory. A store that another process holds is UNAVAILABLE, with a
 *   message that names the directory.
 * - A power failure may take back unsynced writes of a store, the newest first. So the store then
 *   has its state after some write, at or after the last `flush`.
 * - `destroy` of a missing directory succeeds. `list` names the existing stores.
 * - `compact` gives back the disk of what was deleted, in one open store after the other, where it is much. It keeps no
 *   read or write waiting.
 */
export interface KvStoreFactory {
  open(name: string): Promise<KvStore>
  destroy(name: string): Promise<void>
  list(): Promise<readonly string[]>
  /** Absent: stores give back the disk of what was deleted by themselves. */
  compact?(signal: AbortSignal, onCompacted: OnCompacted): Promise<void>
}
