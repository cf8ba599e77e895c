// Finds the rows of a segment with the largest inner products: MaxScore over windows of rows.
//
// In each window the largest weights of a term's blocks bound what it adds. The terms with the lowest bounds are
// "optional" as long as the sum of their bounds cannot reach the bar: a row that has only these is not a hit. The
// other terms are walked; of the rows that were found, those that may still reach the bar with the optional terms are
// looked up in these, the highest bound first.
//
// Invariants:
//   MS1  What is offered is the sum of the products in the order of the terms, whatever the order of the walk was:
//        a row has one inner product to the last bit, in each segment, in memory, and on each replica.
//   MS2  A row is left out only if its sum, in any order of additions, is below the bar.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { SoughtTerm } from './sought-term.ts'

const WINDOW_MIN = 1024
const WINDOW_MAX = 8192
/** The fewest rows of a window, however many terms there are. */
const WINDOW_FLOOR = 128
/** Rows times terms that a window may have: about a millisecond, if each row has each term. */
const WINDOW_POSTINGS = 2 ** 18
/** Postings that are walked in about a millisecond. */
const POSTINGS_PER_STEP = 2 ** 17
/** What a lookup costs, in postings. */
const LOOKUP_COST = 8
/** A factor for sums in another order than that of MS1: far more than their rounding. */
const SLACK = 1 + 1e-9

/** Takes the rows that are found, ascending. */
export interface RowSink {
  /** Rows with less need not be offered. */
  readonly bar: number
  /** Whether a row may be a hit at all. */
  accepts(row: number): boolean
  offer(row: number, product: number): void
}

/** Offers all rows that may be hits to the sink. `terms` are those of the query that the segment has, ascending. */
export function* offerBest(
  terms: readonly SoughtTerm[],
  rowCount: number,
  sink: RowSink,
): Sliced<void> {
  const run = new MaxScore(terms, sink)
  for (let from = 0; from < rowCount;) from = yield* run.searchWindow(from, rowCount)
}

/** MS1. */
export function productOf(terms: readonly SoughtTerm[], row: number): number {
  let sum = 0
  for (const term of terms) sum += term.partOf(row)
  return sum
}

class MaxScore {
  readonly #terms: readonly SoughtTerm[]
  readonly #sink: RowSink
  /** By ascending bound in the present window, and the sums of the bounds up to each. */
  readonly #order: SoughtTerm[]
  readonly #sums: Float64Array
  readonly #windowMax: number
  readonly #scores: Float64Array
  readonly #found: Uint32Array
  readonly #meter = new StepMeter(POSTINGS_PER_STEP)

  constructor(terms: readonly SoughtTerm[], sink: RowSink) {
    this.#terms = terms
    this.#sink = sink
    this.#order = [...terms]
    this.#sums = new Float64Array(terms.length)
    const fitting = Math.floor(WINDOW_POSTINGS / terms.length)
    this.#windowMax = Math.max(WINDOW_FLOOR, Math.min(WINDOW_MAX, fitting))
    this.#scores = new Float64Array(this.#windowMax)
    this.#found = new Uint32Array((this.#windowMax + 31) >>> 5)
  }

  /** Returns the begin of the next window. */
  *searchWindow(from: number, rowCount: number): Sliced<number> {
    let blockEnd = rowCount - 1
    for (const term of this.#terms) blockEnd = Math.min(blockEnd, term.blockEnd(from))
    const least = Math.min(from + Math.min(WINDOW_MIN, this.#windowMax), rowCount)
    const end = Math.max(least, Math.min(blockEnd + 1, from + this.#windowMax))
    const optional = this.#partition(from, end)
    if (optional < this.#order.length) {
      for (let i = optional; i < this.#order.length; i += 1) {
        const term = this.#order[i]
        if (term !== undefined && this.#meter.spend(this.#accumulate(term, from, end))) yield
      }
      yield* this.#offerFound(optional, from, end)
    }
    if (this.#meter.spend(this.#terms.length * 4)) yield
    return end
  }

  /** Orders the terms by their bounds, and returns the number of optional ones. */
  #partition(from: number, end: number): number {
    for (const term of this.#terms) term.bound = term.boundBetween(from, end - 1)
    this.#order.sort((a, b) => a.bound - b.bound)
    const { bar } = this.#sink
    let optional = 0
    let sum = 0
    for (const [i, { bound }] of this.#order.entries()) {
      sum += bound
      this.#sums[i] = sum
      if (sum * SLACK < bar) optional = i + 1
    }
    return optional
  }

  /** Returns the number of postings. */
  #accumulate({ walk, weight }: SoughtTerm, from: number, end: number): number {
    const scores = this.#scores
    const found = this.#found
    let count = 0
    walk.advance(from)
    while (walk.row < end) {
      const { rows, weights } = walk
      let i = walk.index
      for (; i < weights.length; i += 1) {
        const row = rows[i] ?? 0
        if (row >= end) break
        const at = row - from
        scores[at] = (scores[at] ?? 0) + weight * (weights[i] ?? 0)
        found[at >>> 5] = (found[at >>> 5] ?? 0) | (1 << (at & 31))
      }
      count += i - walk.index
      walk.moveTo(i)
    }
    return count
  }

  *#offerFound(optional: number, from: number, end: number): Sliced<void> {
    const rest = optional === 0 ? 0 : (this.#sums[optional - 1] ?? 0)
    const words = (end - from + 31) >>> 5
    for (let word = 0; word < words; word += 1) {
      let bits = this.#found[word] ?? 0
      this.#found[word] = 0
      while (bits !== 0) {
        const at = word * 32 + 31 - Math.clz32(bits & -bits)
        bits &= bits - 1
        const score = this.#scores[at] ?? 0
        this.#scores[at] = 0
        if ((score + rest) * SLACK < this.#sink.bar || !this.#sink.accepts(from + at)) continue
        if (this.#meter.spend(this.#complete(from + at, score, optional) * LOOKUP_COST)) yield
      }
    }
  }

  /** Adds what the optional terms add, and offers the row. Returns the number of lookups. */
  #complete(row: number, found: number, optional: number): number {
    let score = found
    for (let i = optional - 1; i >= 0; i -= 1) {
      if ((score + (this.#sums[i] ?? 0)) * SLACK < this.#sink.bar) return optional - i
      score += this.#order[i]?.partOf(row) ?? 0
    }
    if (score * SLACK < this.#sink.bar) return optional
    this.#sink.offer(row, productOf(this.#terms, row))
    return optional + this.#terms.length
  }
}
