import { NO_ROW, TermCursor } from '../postings/term-cursor.ts'
import type { TermPostings } from '../postings/term-postings.ts'

/** The most blocks that a bound looks at. A longer range gets the term's best. */
const BLOCKS_PER_BOUND = 16

/** A term of the query in one segment. */
export class SoughtTerm {
  /** Its weight in the query, above 0. */
  readonly weight: number
  /** Goes through all rows that have to be looked at. */
  readonly walk: TermCursor
  /** Looks single rows up, which come ascending, too. */
  readonly lookup: TermCursor
  /** The most that the term adds to a row of the present window. */
  bound = 0

  constructor(weight: number, postings: TermPostings) {
    this.weight = weight
    this.walk = new TermCursor(postings)
    this.lookup = new TermCursor(postings)
  }

  /** For the rows from the first to the last, both included. `from` never decreases. */
  boundBetween(from: number, last: number): number {
    const { postings } = this.walk
    const first = this.walk.blockOf(from)
    let most = 0
    for (let block = first; block < postings.blockCount; block += 1) {
      if (block - first >= BLOCKS_PER_BOUND) return this.weight * postings.max
      most = Math.max(most, postings.maxOf(block))
      if (postings.lastRowOf(block) >= last) break
    }
    return this.weight * most
  }

  /** The last row of the block that may hold `from`; NO_ROW behind the last block. */
  blockEnd(from: number): number {
    const { postings } = this.walk
    const block = this.walk.blockOf(from)
    return block < postings.blockCount ? postings.lastRowOf(block) : NO_ROW
  }

  /** What it adds to the inner product of a row with the query. Rows ascend from call to call. */
  partOf(row: number): number {
    return this.weight * this.lookup.weightOf(row)
  }
}
