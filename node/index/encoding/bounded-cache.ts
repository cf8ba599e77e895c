// A cache bounded by the bytes it holds.
//
// Two generations instead of a list in order of use: an entry found in the old one moves to the
// young one; when the young one holds half of the bound it becomes the old one. A hit in the young
// generation changes nothing, which keeps the common case at one map lookup.

interface Entry<Value> {
  readonly value: Value
  readonly bytes: number
}

/**
 * A cache of one thread. The caller says what each entry costs; the cache may hold somewhat more
 * than its bound, because it drops a whole generation at a time.
 */
export class BoundedCache<Key, Value> {
  readonly #bytesMax: number
  #young = new Map<Key, Entry<Value>>()
  #old = new Map<Key, Entry<Value>>()
  #youngBytes = 0
  #oldBytes = 0
  #hits = 0
  #misses = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#youngBytes + this.#oldBytes
  }

  /** How often `get` found something. */
  get hits(): number {
    return this.#hits
  }

  get misses(): number {
    return this.#misses
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) {
      this.#hits += 1
      return young.value
    }
    const old = this.#old.get(key)
    if (old === undefined) {
      this.#misses += 1
      return undefined
    }
    this.#hits += 1
    this.#old.delete(key)
    this.#oldBytes -= old.bytes
    this.put(key, old.value, old.bytes)
    return old.value
  }

  /** Whether `get` would find the key. It counts neither as a hit nor as a miss. */
  has(key: Key): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  /** The key must not be in the cache. An entry larger than half of the bound is not kept long. */
  put(key: Key, value: Value, bytes: number): void {
    this.#young.set(key, { value, bytes })
    this.#youngBytes += bytes
    if (this.#youngBytes < this.#bytesMax / 2) return
    this.#old = this.#young
    this.#oldBytes = this.#youngBytes
    this.#young = new Map()
    this.#youngBytes = 0
  }
}
