// Postings that grow: one pool of words for all terms of a field. A term's postings are contiguous, two
// words each: the document, and either the position of the term, doubled, or, if the document has the term
// several times, where its positions are, doubled and one. There, the frequency precedes the positions. When
// the room of a term is full, its postings move to one of twice the size, and the old room goes to the next
// term that needs it.
//
// Invariants:
//   P1  The postings of a source do not change while readers are counted. New postings are only
//       added behind them, and a room that a term has left is not used again before the last reader
//       is gone.

import { assert } from '../../../../lib/assert.ts'
import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import { GrowableUint32 } from '../../encoding/growable.ts'
import type { PositionBlock, PositionsWalk, PostingsSource } from './postings-source.ts'

const WORDS = 2
/** Fewer positions are copied one by one, which is faster than a view. */
const COPIED_SINGLY_MAX = 32
/** Positions and their places are doubled. */
const PLACE_MAX = 2 ** 31 - 1
/** What the pool keeps of a term: one part of a cache line. */
const RECORD = { start: 0, count: 1, room: 2, slot: 3 } as const
const RECORD_WORDS = 4
const ROOM_BITS_FIRST = 0

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
  readonly #records = new GrowableUint32()
  readonly #positions = new GrowableUint32()
  /** The free rooms, by the logarithm of their size. */
  readonly #free: number[][] = []
  /** Rooms that terms have left while a reader may still use them. */
  #left: { readonly bits: number; readonly at: number }[] = []

  constructor(held: ReaderCount) {
    this.#held = held
  }

  get bytes(): number {
    return (this.#pool.length + this.#positions.length + this.#records.length) * 4
  }

  newTerm(): void {
    const records = this.#records
    records.reserve(RECORD_WORDS)
    const at = records.length
    records.length += RECORD_WORDS
    records.values[at + RECORD.start] = this.#takeRoom(ROOM_BITS_FIRST)
    records.values[at + RECORD.count] = 0
    records.values[at + RECORD.room] = ROOM_BITS_FIRST
    records.values[at + RECORD.slot] = 0
  }

  get termCount(): number {
    return this.#records.length / RECORD_WORDS
  }

  docFreq(term: number): number {
    return this.#records.values[term * RECORD_WORDS + RECORD.count] ?? 0
  }

  /** A number that the caller keeps with the term; 0 at first. */
  slot(term: number): number {
    return this.#records.values[term * RECORD_WORDS + RECORD.slot] ?? 0
  }

  setSlot(term: number, slot: number): void {
    this.#records.values[term * RECORD_WORDS + RECORD.slot] = slot
  }

  /** The number of documents below `docEnd` that have the term. */
  docFreqBelow(term: number, docEnd: number): number {
    const count = this.docFreq(term)
    const start = this.#startOf(term)
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

  /** Adds a document that has the term once; documents ascend. */
  addOnce(term: number, doc: number, position: number): void {
    assert(position <= PLACE_MAX, 'a position fits 31 bits')
    this.#add(term, doc, (position << 1) >>> 0)
  }

  /** Adds a document that has the term `freq` times. Returns where in `positions` these go. */
  addOften(term: number, doc: number, freq: number): number {
    const positions = this.#positions
    const at = positions.length
    assert(at <= PLACE_MAX, 'the place of positions fits 31 bits')
    positions.reserve(freq + 1)
    positions.values[at] = freq
    positions.length += freq + 1
    this.#add(term, doc, ((at << 1) | 1) >>> 0)
    return at + 1
  }

  get positions(): Uint32Array {
    return this.#positions.values
  }

  /** The postings of the first `count` documents of a term. */
  source(term: number, count: number): PostingsSource {
    const start = this.#startOf(term)
    return new MemoryPostings(this.#pool.values, this.#positions.values, { start, count })
  }

  #startOf(term: number): number {
    return this.#records.values[term * RECORD_WORDS + RECORD.start] ?? 0
  }

  #add(term: number, doc: number, word: number): void {
    const records = this.#records.values
    const record = term * RECORD_WORDS
    const count = records[record + RECORD.count] ?? 0
    if (count === 1 << (records[record + RECORD.room] ?? 0)) this.#grow(record, count)
    const at = (records[record + RECORD.start] ?? 0) + count * WORDS
    const pool = this.#pool.values
    pool[at] = doc
    pool[at + 1] = word
    records[record + RECORD.count] = count + 1
  }

  #grow(record: number, count: number): void {
    const records = this.#records.values
    const bits = records[record + RECORD.room] ?? 0
    const to = this.#takeRoom(bits + 1)
    const from = records[record + RECORD.start] ?? 0
    const pool = this.#pool.values
    const words = count * WORDS
    if (words > COPIED_SINGLY_MAX) pool.copyWithin(to, from, from + words)
    else for (let i = 0; i < words; i += 1) pool[to + i] = pool[from + i] ?? 0
    if (this.#held.readers === 0) this.#giveBack(bits, from)
    else this.#left.push({ bits, at: from })
    records[record + RECORD.start] = to
    records[record + RECORD.room] = bits + 1
  }

  #takeRoom(bits: number): number {
    if (this.#left.length > 0 && this.#held.readers === 0) this.#giveRoomsBack()
    const free = this.#free[bits]?.pop()
    if (free !== undefined) return free
    const words = WORDS << bits
    this.#pool.reserve(words)
    const at = this.#pool.length
    this.#pool.length += words
    return at
  }

  #giveRoomsBack(): void {
    for (const { bits, at } of this.#left) this.#giveBack(bits, at)
    this.#left = []
  }

  #giveBack(bits: number, at: number): void {
    const free = this.#free[bits] ?? []
    this.#free[bits] = free
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
    for (let i = 0; i < count; i += 1, at += WORDS) {
      const word = this.#pool[at] ?? 0
      freqs[i] = (word & 1) === 0 ? 1 : (this.#positions[word >>> 1] ?? 0)
    }
  }

  decodePositions(block: number, freqs: Uint32Array, out: PositionBlock): void {
    const count = this.#countOf(block)
    const start = this.#startOf(block) + 1
    let length = 0
    for (let i = 0; i < count; i += 1) {
      const freq = freqs[i] ?? 0
      const word = this.#pool[start + i * WORDS] ?? 0
      out.starts[i] = length
      out.reserve(length + freq)
      if ((word & 1) === 0) out.values[length] = word >>> 1
      else this.#copyPositions((word >>> 1) + 1, freq, { values: out.values, at: length })
      length += freq
    }
    out.starts[count] = length
  }

  readPositions(block: number, index: number, freqs: Uint32Array, walk: PositionsWalk): void {
    const count = freqs[index] ?? 0
    const word = this.#pool[this.#startOf(block) + index * WORDS + 1] ?? 0
    walk.reserve(count)
    walk.length = count
    if ((word & 1) === 0) walk.values[0] = word >>> 1
    else this.#copyPositions((word >>> 1) + 1, count, { values: walk.values, at: 0 })
  }

  #copyPositions(from: number, count: number, to: { values: Uint32Array; at: number }): void {
    if (count >= COPIED_SINGLY_MAX) {
      to.values.set(this.#positions.subarray(from, from + count), to.at)
      return
    }
    for (let i = 0; i < count; i += 1) to.values[to.at + i] = this.#positions[from + i] ?? 0
  }

  #countOf(block: number): number {
    return Math.min(BLOCK_LENGTH, this.docFreq - block * BLOCK_LENGTH)
  }

  #startOf(block: number): number {
    return this.#start + block * BLOCK_LENGTH * WORDS
  }
}
