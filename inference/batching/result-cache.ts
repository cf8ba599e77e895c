// Keeps recent results, so that the same question is not computed twice.
//
// Invariants:
//   C1  A value is answered for `ttlMs` after it was written. Reading it does not extend its life.
//   C2  The values' bytes never exceed `bytesMax`; the least recently used go first.

import type { Clock } from '../../lib/clock.ts'

/** `bytesOf` returns the memory of one value in bytes; the cache adds the cost of its own entry. */
export interface ResultCacheOptions<Value> {
  readonly clock: Clock
  readonly ttlMs: number
  readonly bytesMax: number
  readonly bytesOf: (value: Value) => number
}

interface Entry<Value> {
  readonly value: Value
  readonly bytes: number
  readonly expiresAtMs: number
}

/** The approximate bytes of a key and of an entry's bookkeeping. */
const ENTRY_BYTES = 200

/**
 * A cache by key, bounded in time and bytes. Values are shared with the readers, who must not
 * change them.
 */
export class ResultCache<Value> {
  readonly #options: ResultCacheOptions<Value>
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry<Value>>()
  #bytes = 0

  constructor(options: ResultCacheOptions<Value>) {
    this.#options = options
  }

  /** The bytes of all entries, keys and bookkeeping included. */
  get bytes(): number {
    return this.#bytes
  }

  /** The value of the key; undefined when it was never set, has expired or was evicted. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#drop(key, entry)
    if (entry.expiresAtMs <= this.#options.clock.monotonicMs()) return undefined
    this.#insert(key, entry)
    return entry.value
  }

  /** Replaces the value of the key. A value larger than the whole cache is not kept. */
  set(key: string, value: Value): void {
    const { clock, ttlMs, bytesMax, bytesOf } = this.#options
    const before = this.#entries.get(key)
    if (before !== undefined) this.#drop(key, before)
    const bytes = bytesOf(value) + ENTRY_BYTES
    if (bytes > bytesMax) return
    this.#insert(key, { value, bytes, expiresAtMs: clock.monotonicMs() + ttlMs })
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= bytesMax) return
      this.#drop(oldest, entry)
    }
  }

  #insert(key: string, entry: Entry<Value>): void {
    this.#entries.set(key, entry)
    this.#bytes += entry.bytes
  }

  #drop(key: string, entry: Entry<Value>): void {
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
  }
}
