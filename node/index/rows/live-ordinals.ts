// Which ordinals an index has: bitmaps, so that its share of a filter is counted 32 ordinals at a time.

import type { OrdinalSet } from '../host/ordinal-set.ts'

const CHUNK_SHIFT = 16
const CHUNK_WORDS = 2 ** (CHUNK_SHIFT - 5)

/** A set of ordinals that changes. */
export class LiveOrdinals {
  readonly #chunks = new Map<number, Uint32Array>()

  get bytesInMemory(): number {
    return this.#chunks.size * CHUNK_WORDS * 4
  }

  add(ordinal: number): void {
    const high = ordinal >>> CHUNK_SHIFT
    const chunk = this.#chunks.get(high) ?? new Uint32Array(CHUNK_WORDS)
    this.#chunks.set(high, chunk)
    const word = (ordinal >>> 5) % CHUNK_WORDS
    chunk[word] = (chunk[word] ?? 0) | (1 << (ordinal & 31))
  }

  delete(ordinal: number): void {
    const chunk = this.#chunks.get(ordinal >>> CHUNK_SHIFT)
    const word = (ordinal >>> 5) % CHUNK_WORDS
    if (chunk !== undefined) chunk[word] = (chunk[word] ?? 0) & ~(1 << (ordinal & 31))
  }

  has(ordinal: number): boolean {
    return ((this.#wordOf(ordinal) >>> (ordinal & 31)) & 1) === 1
  }

  /** How many members of the other set are in this one: some microseconds for each hundred thousand. */
  countOf(set: OrdinalSet): number {
    if (set.kind === 'list') {
      return set.ordinals.reduce((sum, one) => sum + Number(this.has(one)), 0)
    }
    const { words } = set
    let count = 0
    for (let from = 0; from < words.length;) {
      const ordinal = set.from + from * 32
      const chunk = this.#chunks.get(ordinal >>> CHUNK_SHIFT)
      const first = (ordinal >>> 5) % CHUNK_WORDS
      const length = Math.min(words.length - from, CHUNK_WORDS - first)
      if (chunk !== undefined) {
        count += commonBits(words.subarray(from, from + length), chunk, first)
      }
      from += length
    }
    return count
  }

  #wordOf(ordinal: number): number {
    return this.#chunks.get(ordinal >>> CHUNK_SHIFT)?.[(ordinal >>> 5) % CHUNK_WORDS] ?? 0
  }
}

/** How many bits the words share with those of the chunk from `first` on. */
function commonBits(words: Uint32Array, chunk: Uint32Array, first: number): number {
  let count = 0
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? 0
    if (word !== 0) count += bitsOf(word & (chunk[first + i] ?? 0))
  }
  return count
}

/** The halving sums of Hacker's Delight, 5-1. */
function bitsOf(word: number): number {
  let sums = word - ((word >>> 1) & 0x55555555)
  sums = (sums & 0x33333333) + ((sums >>> 2) & 0x33333333)
  sums = (sums + (sums >>> 4)) & 0x0f0f0f0f
  return Math.imul(sums, 0x01010101) >>> 24
}
