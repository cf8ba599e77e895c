// Stores whose writes take a seeded number of turns of the event loop, so that the writes of
// different stores finish in an order of chance that the seed repeats.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Random } from '../../../lib/random.ts'
import type {
  KvEntry,
  KvOp,
  KvRange,
  KvSnapshot,
  KvStore,
  KvStoreFactory,
} from '../../../node/storage/kv-store.ts'
import { MemoryKvStore } from '../../../node/storage/memory-kv-store.ts'

const TURNS_MAX = 6

export class DelayedStores implements KvStoreFactory {
  readonly #random: Random
  readonly #names = new Set<string>()

  constructor(random: Random) {
    this.#random = random
  }

  async open(name: string): Promise<KvStore> {
    this.#names.add(name)
    return new DelayedKvStore(new MemoryKvStore(), this.#random)
  }

  async destroy(name: string): Promise<void> {
    this.#names.delete(name)
  }

  async list(): Promise<readonly string[]> {
    return [...this.#names]
  }
}

class DelayedKvStore implements KvStore {
  readonly generation = 0
  readonly #inner: KvStore
  readonly #random: Random
  #tail: Promise<void> = Promise.resolve()

  constructor(inner: KvStore, random: Random) {
    this.#inner = inner
    this.#random = random
  }

  get(key: Uint8Array): Buffer | undefined {
    return this.#inner.get(key)
  }

  write(ops: readonly KvOp[], options: { readonly sync: boolean }): Promise<void> {
    this.#tail = this.#tail.then(async () => {
      await this.#delay() // not there yet
      await this.#inner.write(ops, options)
      await this.#delay() // there, but unanswered
    })
    return this.#tail
  }

  async flush(): Promise<void> {
    await this.#tail
  }

  snapshot(): KvSnapshot {
    return this.#inner.snapshot()
  }

  pages(range: KvRange): AsyncIterable<readonly KvEntry[]> {
    return this.#inner.pages(range)
  }

  approximateBytes(range: KvRange): Promise<number> {
    return this.#inner.approximateBytes(range)
  }

  async close(): Promise<void> {
    await this.#tail
    await this.#inner.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #delay(): Promise<void> {
    const turns = Math.floor(this.#random() * TURNS_MAX)
    for (let turn = 0; turn < turns; turn++) await nextTurn()
  }
}
