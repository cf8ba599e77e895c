import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import { PositionsWalk, type PostingsSource } from './postings-source.ts'

/** Behind the last document: greater than every document number. */
export const NO_MORE = 0x7fffffff

const NONE = new Uint32Array(0)
/**
 * The entries that are first looked at one by one, because in dense lists the target is among them.
 */
const NEAR = 6

/** A walk through one term's postings. Begins before the first document, at -1. */
export class PostingsCursor {
  readonly source: PostingsSource
  doc = -1
  /** The decoded block: entries `index` to `count` are still ahead. For loops over whole blocks. */
  readonly docs: Uint32Array
  /** The frequencies of the decoded block, filled by `loadFreqs`. */
  freqs: Uint32Array = NONE
  index = 0
  count = 0
  block = -1
  #hasFreqs = false
  #positions: PositionsWalk | undefined

  constructor(source: PostingsSource) {
    this.source = source
    // Most terms are rare: small arrays cost much less to make.
    this.docs = new Uint32Array(Math.min(source.docFreq, BLOCK_LENGTH))
  }

  next(): number {
    this.index += 1
    if (this.index >= this.count) return this.openBlock(this.block + 1)
    this.doc = this.docs[this.index] ?? NO_MORE
    return this.doc
  }

  /** The first document at or behind `target`, which must be behind the present one. */
  advance(target: number): number {
    if (this.block < 0 || target > (this.docs[this.count - 1] ?? -1)) {
      this.openBlock(this.blockOf(target))
      if (this.doc >= target) return this.doc
    }
    const { docs, count } = this
    let low = this.index
    const near = Math.min(low + NEAR, count)
    while (low < near && (docs[low] ?? 0) < target) low += 1
    if (low === near) low = this.#leap(target, near - 1)
    this.index = low
    this.doc = docs[low] ?? NO_MORE
    return this.doc
  }

  /** The first entry of the block at or behind `target`: by doubling steps, then halving. */
  #leap(target: number, from: number): number {
    const { docs, count } = this
    let low = from
    let step = 1
    while (low + step < count && (docs[low + step] ?? 0) < target) {
      low += step
      step *= 2
    }
    let high = Math.min(low + step, count - 1)
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((docs[middle] ?? 0) < target) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The first block, from the present one on, that may hold `target`; `blockCount` for none. */
  blockOf(target: number): number {
    return this.blockFrom(Math.max(this.block, 0), target)
  }

  /** The first block from `first` on that may hold `target`, by doubling steps, then halving. */
  blockFrom(first: number, target: number): number {
    const { lastDocs, blockCount } = this.source
    let low = first
    let step = 1
    while (low + step < blockCount && (lastDocs[low + step] ?? 0) < target) {
      low += step
      step *= 2
    }
    let high = Math.min(low + step, blockCount)
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((lastDocs[middle] ?? 0) < target) low = middle + 1
      else high = middle
    }
    return low
  }

  openBlock(block: number): number {
    this.index = 0
    this.#hasFreqs = false
    if (block >= this.source.blockCount) {
      this.block = this.source.blockCount
      this.count = 0
      this.doc = NO_MORE
      return NO_MORE
    }
    this.block = block
    this.count = this.source.decodeDocs(block, this.docs)
    this.doc = this.docs[0] ?? NO_MORE
    return this.doc
  }

  /** Moves to an entry of the decoded block, or to the next block if `index` is `count`. */
  moveTo(index: number): void {
    if (index >= this.count) {
      this.openBlock(this.block + 1)
      return
    }
    this.index = index
    this.doc = this.docs[index] ?? NO_MORE
  }

  /** Fills `freqs` for the present block. */
  loadFreqs(): void {
    if (this.#hasFreqs) return
    if (this.freqs.length < this.docs.length) this.freqs = new Uint32Array(this.docs.length)
    this.source.decodeFreqs(this.block, this.freqs)
    this.#hasFreqs = true
  }

  freq(): number {
    if (!this.#hasFreqs) this.loadFreqs()
    return this.freqs[this.index] ?? 0
  }

  /** The positions of the present document after `loadPositions`, always in the same object. */
  get positions(): PositionsWalk {
    this.#positions ??= new PositionsWalk()
    return this.#positions
  }

  loadPositions(): void {
    this.loadFreqs()
    this.source.readPositions(this.block, this.index, this.freqs, this.positions)
  }
}
