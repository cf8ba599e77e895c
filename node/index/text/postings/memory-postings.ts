// Postings that grow: one pool of words for all terms of a field. A term's postings are contiguous,
// three words each (document, frequency, where its positions begin); when their room is full they
// move to one of twice the size, and the old room goes to the next term that needs it.
//
// Invariants:
//   P1  The postings of a source do not change while readers are counted. New postings are only
//       added behind them, and a room that a term has left is not used again before the last reader
//       is gone.

import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import { GrowableUint32 } from '../../encoding/growable.ts'
import type { PositionBlock, PositionsWalk, PostingsSource } from './postings-source.ts'

const WORDS = 3
/** Fewer positions are copied one by one, which is faster than a view. */
const COPIED_SINGLY_MAX = 32
const FIRST_ROOM = 1

/** The number of snapshots that use a memory segment. */
export interface ReaderCount {
  readonly readers: number
}

/**
 * The postings of all terms of a field in a memory segment. Only the thread that writes the index
 * adds to them; searches read through the sources that the pool hands out.
 */
export class MemoryPostingsPool {
  readonly #held: ReaderCount
  readonly #pool = new GrowableUint32()
  readonly #starts = new GrowableUint32()
  readonly #counts = new GrowableUint32()
  readonly #rooms = new GrowableUint32()
  readonly #positions = new GrowableUint32()
  /** The free rooms, by the logarithm of their size. */
  readonly #free: number[][] = []
  /** Rooms that terms have left while a reader may still use them. */
  #left: { readonly size: number; readonly at: number }[] = []

  constructor(held: ReaderCount) {
    this.#held = held
  }

  get bytes(): number {
    const words = this.#pool.length + this.#positions.length + this.#starts.length * 3
    return words * 4
  }

  newTerm(): void {
    this.#starts.push(this.#takeRoom(FIRST_ROOM))
    this.#counts.push(0)
    this.#rooms.push(FIRST_ROOM)
  }

  docFreq(term: number): number {
    return this.#counts.values[term] ?? 0
  }

  /** The number of documents below `docEnd` that have the term. */
  docFreqBelow(term: number, docEnd: number): number {
    const count = this.docFreq(term)
    const start = this.#starts.values[term] ?? 0
    const pool = this.#pool.values
    if (count === 0 || (pool[start + (count - 1) * WORDS] ?? 0) < docEnd) return count
    let low = 0
    let high = count - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((pool[start + middle * WORDS] ?? 0) < docEnd) low = middle + 1
      else high = middle
    }
    return low
  }

  /**
   * Adds a document; documents ascend. Returns the place in `positions` for the caller's positions.
   */
  add(term: number, doc: number, freq: number): void {
    const count = this.#counts.values[term] ?? 0
    if (count === this.#rooms.values[term]) this.#grow(term, count)
    const at = (this.#starts.values[term] ?? 0) + count * WORDS
    const pool = this.#pool.values
    pool[at] = doc
    pool[at + 1] = freq
    pool[at + 2] = this.#positions.length
    this.#counts.values[term] = count + 1
  }

  /** Makes room for positions, and returns the place of the first. */
  addPositions(count: number): number {
    this.#positions.reserve(count)
    const at = this.#positions.length
    this.#positions.length += count
    return at
  }

  get positions(): Uint32Array {
    return this.#positions.values
  }

  /** The postings of the first `count` documents of a term. */
  source(term: number, count: number): PostingsSource {
    const start = this.#starts.values[term] ?? 0
    return new MemoryPostings(this.#pool.values, this.#positions.values, { start, count })
  }

  #grow(term: number, count: number): void {
    const room = (this.#rooms.values[term] ?? 0) * 2
    const to = this.#takeRoom(room)
    const from = this.#starts.values[term] ?? 0
    this.#pool.values.copyWithin(to, from, from + count * WORDS)
    const size = Math.log2(room / 2)
    if (this.#held.readers === 0) this.#giveBack(size, from)
    else this.#left.push({ size, at: from })
    this.#starts.values[term] = to
    this.#rooms.values[term] = room
  }

  #takeRoom(room: number): number {
    if (this.#left.length > 0 && this.#held.readers === 0) this.#giveRoomsBack()
    const free = this.#free[Math.log2(room)]?.pop()
    if (free !== undefined) return free
    this.#pool.reserve(room * WORDS)
    const at = this.#pool.length
    this.#pool.length += room * WORDS
    return at
  }

  #giveRoomsBack(): void {
    for (const { size, at } of this.#left) this.#giveBack(size, at)
    this.#left = []
  }

  #giveBack(size: number, at: number): void {
    const free = this.#free[size] ?? []
    this.#free[size] = free
    free.push(at)
  }
}

class MemoryPostings implements PostingsSource {
  readonly docFreq: number
  readonly blockCount: number
  readonly impacts = undefined
  #lastDocs: Uint32Array | undefined
  readonly #pool: Uint32Array
  readonly #positions: Uint32Array
  readonly #start: number

  constructor(
    pool: Uint32Array,
    positions: Uint32Array,
    place: { readonly start: number; readonly count: number },
  ) {
    this.#pool = pool
    this.#positions = positions
    this.#start = place.start
    this.docFreq = place.count
    this.blockCount = Math.ceil(place.count / BLOCK_LENGTH)
  }

  get lastDocs(): Uint32Array {
    if (this.#lastDocs !== undefined) return this.#lastDocs
    const lastDocs = new Uint32Array(this.blockCount)
    for (let block = 0; block < this.blockCount; block += 1) {
      const last = Math.min((block + 1) * BLOCK_LENGTH, this.docFreq) - 1
      lastDocs[block] = this.#pool[this.#start + last * WORDS] ?? 0
    }
    this.#lastDocs = lastDocs
    return lastDocs
  }

  decodeDocs(block: number, docs: Uint32Array): number {
    const count = this.#countOf(block)
    let at = this.#startOf(block)
    for (let i = 0; i < count; i += 1, at += WORDS) docs[i] = this.#pool[at] ?? 0
    return count
  }

  decodeFreqs(block: number, freqs: Uint32Array): void {
    const count = this.#countOf(block)
    let at = this.#startOf(block) + 1
    for (let i = 0; i < count; i += 1, at += WORDS) freqs[i] = this.#pool[at] ?? 0
  }

  decodePositions(block: number, freqs: Uint32Array, out: PositionBlock): void {
    const count = this.#countOf(block)
    let length = 0
    for (let i = 0; i < count; i += 1) {
      const freq = freqs[i] ?? 0
      const from = this.#pool[this.#startOf(block) + i * WORDS + 2] ?? 0
      out.starts[i] = length
      out.reserve(length + freq)
      if (freq >= COPIED_SINGLY_MAX) {
        out.values.set(this.#positions.subarray(from, from + freq), length)
      } else {
        for (let j = 0; j < freq; j += 1) out.values[length + j] = this.#positions[from + j] ?? 0
      }
      length += freq
    }
    out.starts[count] = length
  }

  readPositions(block: number, index: number, freqs: Uint32Array, walk: PositionsWalk): void {
    const count = freqs[index] ?? 0
    const from = this.#pool[this.#startOf(block) + index * WORDS + 2] ?? 0
    walk.reserve(count)
    walk.length = count
    for (let i = 0; i < count; i += 1) walk.values[i] = this.#positions[from + i] ?? 0
  }

  #countOf(block: number): number {
    return Math.min(BLOCK_LENGTH, this.docFreq - block * BLOCK_LENGTH)
  }

  #startOf(block: number): number {
    return this.#start + block * BLOCK_LENGTH * WORDS
  }
}
