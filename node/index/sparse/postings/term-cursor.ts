import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import type { TermPostings } from './term-postings.ts'

/** Behind the last row: greater than every row's number. */
export const NO_ROW = 0x7fffffff

const NO_WEIGHTS = new Float32Array(0)

/** A walk through the rows that have one term, ascending. It begins before the first row, at -1. */
export class TermCursor {
  readonly postings: TermPostings
  row = -1
  /** The block that was read: entries from `index` on are ahead. For loops over whole blocks. */
  readonly rows: Uint32Array
  weights: Float32Array = NO_WEIGHTS
  index = 0
  #block = -1

  constructor(postings: TermPostings) {
    this.postings = postings
    // Most terms are rare: small arrays cost much less to make.
    this.rows = new Uint32Array(Math.min(postings.count, BLOCK_LENGTH))
  }

  /** The first row at or behind `target`. */
  advance(target: number): number {
    if (this.row >= target) return this.row
    if (this.#block < 0 || target > (this.rows[this.weights.length - 1] ?? -1)) {
      this.#open(this.blockOf(target))
    }
    const { rows, weights } = this
    let low = this.index
    let step = 1
    while (low + step < weights.length && (rows[low + step] ?? 0) < target) {
      low += step
      step *= 2
    }
    let high = Math.min(low + step, weights.length)
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((rows[middle] ?? 0) < target) low = middle + 1
      else high = middle
    }
    return this.moveTo(low)
  }

  /** Moves to an entry of the block, or to the next block if it has no such entry. */
  moveTo(index: number): number {
    if (index >= this.weights.length) return this.#open(this.#block + 1)
    this.index = index
    this.row = this.rows[index] ?? NO_ROW
    return this.row
  }

  /** The weight of the term in a row, which is not before that of an earlier call; 0 if it lacks the term. */
  weightOf(row: number): number {
    return this.advance(row) === row ? (this.weights[this.index] ?? 0) : 0
  }

  /** The first block, from the present one on, that may hold `target`; `blockCount` for none. */
  blockOf(target: number): number {
    const { postings } = this
    let low = Math.max(this.#block, 0)
    let step = 1
    while (low + step < postings.blockCount && postings.lastRowOf(low + step) < target) {
      low += step
      step *= 2
    }
    let high = Math.min(low + step, postings.blockCount)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (postings.lastRowOf(middle) < target) low = middle + 1
      else high = middle
    }
    return low
  }

  #open(block: number): number {
    const isEnd = block >= this.postings.blockCount
    this.#block = Math.min(block, this.postings.blockCount)
    this.index = 0
    this.weights = isEnd ? NO_WEIGHTS : this.postings.readBlock(block, this.rows)
    this.row = isEnd ? NO_ROW : (this.rows[0] ?? NO_ROW)
    return this.row
  }
}
