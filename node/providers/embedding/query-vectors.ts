// The vectors of recent questions. Pages of one search, and searches that many people make, ask for the same ones.
//
// Invariants:
//   QV1  A vector is answered for five minutes after it was made. Reading it does not extend its life.
//   QV2  Entries and their bytes stay within their limits; the least recently used go first.

import { createHash } from 'node:crypto'
import type { Clock } from '../../../lib/clock.ts'
import type { EmbedPart, Embedder } from '../contract/provider.ts'

/** The limits of all that is kept. */
export interface QueryVectorLimits {
  readonly ttlMs: number
  readonly entriesMax: number
  readonly bytesMax: number
}

const QUERY_VECTOR_LIMITS: QueryVectorLimits = {
  ttlMs: 5 * 60_000,
  entriesMax: 10_000,
  bytesMax: 64 * 1024 * 1024,
}

interface Entry {
  readonly vector: Float32Array
  readonly expiresAtMs: number
}

/** A key and an entry's bookkeeping. */
const ENTRY_BYTES = 250

/** One question to an embedder. */
export interface QueryText {
  readonly embedder: Embedder
  /** Says which configurations mean the same (`configurationKey`). */
  readonly key: string
  readonly parts: readonly EmbedPart[]
}

/** Embeds questions, and keeps the answers for a while. */
export class QueryVectors {
  readonly #limits: QueryVectorLimits
  readonly #clock: Clock
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(clock: Clock, limits: QueryVectorLimits = QUERY_VECTOR_LIMITS) {
    this.#clock = clock
    this.#limits = limits
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The vector, which is shared: nobody may change it. Rejects as `Embedder.embed` does. */
  async vectorOf({ embedder, key, parts }: QueryText, signal: AbortSignal): Promise<Float32Array> {
    const place = digestOf(key, parts)
    const known = this.#find(place)
    if (known !== undefined) return known
    const [vector = new Float32Array()] = await embedder.embed([parts], { signal, use: 'query' })
    this.#keep(place, vector)
    return vector
  }

  #find(place: string): Float32Array | undefined {
    const entry = this.#entries.get(place)
    if (entry === undefined) return undefined
    this.#drop(place, entry)
    if (entry.expiresAtMs <= this.#clock.monotonicMs()) return undefined
    this.#insert(place, entry)
    return entry.vector
  }

  #keep(place: string, vector: Float32Array): void {
    const before = this.#entries.get(place)
    if (before !== undefined) this.#drop(place, before)
    this.#insert(place, { vector, expiresAtMs: this.#clock.monotonicMs() + this.#limits.ttlMs })
    const { entriesMax, bytesMax } = this.#limits
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= entriesMax && this.#bytes <= bytesMax) return
      this.#drop(oldest, entry)
    }
  }

  #insert(place: string, entry: Entry): void {
    this.#entries.set(place, entry)
    this.#bytes += entry.vector.byteLength + ENTRY_BYTES
  }

  #drop(place: string, entry: Entry): void {
    this.#entries.delete(place)
    this.#bytes -= entry.vector.byteLength + ENTRY_BYTES
  }
}

/** The digest has one length, however long the question is, and shows nothing of it. */
function digestOf(key: string, parts: readonly EmbedPart[]): string {
  const hash = createHash('sha256')
  for (const text of [
    key,
    ...parts.map((part) => `${part.kind} ${part.kind === 'text' ? part.text : part.dataUri}`),
  ]) {
    hash.update(`${text.length} `).update(text)
  }
  return hash.digest('base64')
}
