// The one door to the disk. Whatever is durable in this product went through a KvStore.

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
  /** At most this many entries in all. */
  readonly limit?: number
}

export type KvEntry = readonly [key: Buffer, value: Buffer]

/** A frozen view. Holding one keeps overwritten data on disk, so dispose it as soon as possible. */
export interface KvSnapshot extends AsyncDisposable {
  get(key: Uint8Array): Buffer | undefined
  pages(range: KvRange): AsyncIterable<readonly KvEntry[]>
}

/**
 * An ordered map from bytes to bytes.
 *
 * Contract, checked for every implementation by test/conformance/kv-store.ts:
 * - `get` is synchronous: it answers from memory or costs one disk read. Absence is undefined.
 * - `write` applies all of its operations or none, in order; the last operation on a key wins.
 *   With `sync: true` it resolves only when they survive a power failure.
 * - When `flush` resolves, every write that had resolved before the call survives a power failure.
 * - Concurrent `write`s are each atomic and apply in the order of the calls.
 * - `snapshot` is taken at the call; later writes are invisible to its `get` and `pages`.
 * - `pages` walks unsigned byte order (or its reverse) over the state at the call of `pages`, not at
 *   the first `next`, in pages of at least one entry and about 256 KiB; leaving the loop early
 *   frees the iterator.
 * - The caller may reuse or change nothing it handed over until `write` has resolved, and owns
 *   the buffers it got back.
 * - `generation` changes when the fate of a failed write may have changed, before the next write is
 *   admitted: whoever keeps memory of what is in the store builds it anew then.
 * - A full disk is ServiceError DISK_FULL; a damaged file is CORRUPTION; after `close` every
 *   method fails with UNAVAILABLE; `close` waits for running writes and may be called twice.
 */
export interface KvStore extends AsyncDisposable {
  readonly generation: number
  get(key: Uint8Array): Buffer | undefined
  write(ops: readonly KvOp[], options: { readonly sync: boolean }): Promise<void>
  flush(): Promise<void>
  snapshot(): KvSnapshot
  pages(range: KvRange): AsyncIterable<readonly KvEntry[]>
  /** Bytes on disk in the range, roughly; recently written data may be missing from the sum. */
  approximateBytes(range: KvRange): Promise<number>
  close(): Promise<void>
}

/**
 * Opens and removes stores by directory, so that a shard needs to know neither LevelDB nor files.
 * - `open` creates a missing directory; a store that another process holds is UNAVAILABLE with a
 *   message that names the directory.
 * - A power failure takes back unsynced writes of a store from the newest on, and none but those: what
 *   is found again is the state after some write, at or after the last `flush`.
 * - `destroy` of a missing directory is fine; `list` names the existing children of a directory.
 */
export interface KvStoreFactory {
  open(name: string): Promise<KvStore>
  destroy(name: string): Promise<void>
  list(): Promise<readonly string[]>
}
