import { pagesOf } from './entry-pages.ts'
import type { KvEntry, KvOp, KvRange, KvSnapshot, KvStore } from './kv-store.ts'
import { closedError } from './level-error.ts'
import { SortedEntries } from './sorted-entries.ts'

/** A KvStore in memory. Writes apply at the call and end with the object. */
export class MemoryKvStore implements KvStore {
  /** A write never fails halfway, so a cache of this store stays valid. */
  readonly generation = 0
  #entries = SortedEntries.empty
  #closed = false

  get(key: Uint8Array): Buffer | undefined {
    this.#assertOpen()
    return copyOf(this.#entries.get(key))
  }

  async write(ops: readonly KvOp[], _options: { readonly sync: boolean }): Promise<void> {
    this.#assertOpen()
    this.#entries = this.#entries.with(ops)
  }

  async flush(): Promise<void> {
    this.#assertOpen()
  }

  snapshot(): KvSnapshot {
    this.#assertOpen()
    return new EntriesSnapshot(this.#entries, () => this.#assertOpen())
  }

  pages(range: KvRange): AsyncIterable<readonly KvEntry[]> {
    this.#assertOpen()
    return pagesOf(this.#entries.walk(range), () => this.#assertOpen())
  }

  async approximateBytes(range: KvRange): Promise<number> {
    this.#assertOpen()
    return entryBytes(this.#entries.walk(range))
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#entries = SortedEntries.empty
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError('the memory store')
  }
}

/** A view of one version of the entries. It is readable until it is disposed or its store fails. */
export class EntriesSnapshot implements KvSnapshot {
  readonly #entries: SortedEntries
  readonly #assertStoreReadable: () => void
  #disposed = false

  constructor(entries: SortedEntries, assertStoreReadable: () => void) {
    this.#entries = entries
    this.#assertStoreReadable = assertStoreReadable
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#assertReadable()
    return copyOf(this.#entries.get(key))
  }

  pages(range: KvRange): AsyncIterable<readonly KvEntry[]> {
    this.#assertReadable()
    return pagesOf(this.#entries.walk(range), () => this.#assertReadable())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true
  }

  #assertReadable(): void {
    if (this.#disposed) throw closedError('the snapshot')
    this.#assertStoreReadable()
  }
}

export function copyOf(value: Buffer | undefined): Buffer | undefined {
  return value === undefined ? undefined : Buffer.from(value)
}

export function entryBytes(entries: Iterable<KvEntry>): number {
  let bytes = 0
  for (const [key, value] of entries) bytes += key.length + value.length
  return bytes
}
