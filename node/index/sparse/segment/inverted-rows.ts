// The rows of a tail by their terms.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { orderOf } from '../../rows/radix-sort.ts'
import type { SparseVector } from '../../vector/vector-search.ts'
import { NO_TERM, type WeighedTerms, type WeighedRows } from './weighed-terms.ts'

/** Postings that are copied in some tenths of a millisecond. */
const COPIED_PER_STEP = 32_768
const ROWS_AT_ONCE = 128

/** Rows in memory. */
export interface KeptRows {
  readonly rowCount: number
  vectorOf(row: number): SparseVector
}

/** Takes 12 bytes for each posting, and 8 more while they are sorted. */
export function* invertRows(from: KeptRows): Sliced<WeighedTerms> {
  const { rowCount } = from
  const meter = new StepMeter(COPIED_PER_STEP)
  let count = 0
  for (let row = 0; row < rowCount; row += 1) {
    count += from.vectorOf(row).terms.length
    if (meter.spend(1)) yield
  }
  const [terms, rows, weights] = [
    new Uint32Array(count),
    new Uint32Array(count),
    new Float32Array(count),
  ]
  let at = 0
  for (let row = 0; row < rowCount; row += 1) {
    const vector = from.vectorOf(row)
    terms.set(vector.terms, at)
    weights.set(vector.weights, at)
    rows.fill(row, at, at + vector.terms.length)
    at += vector.terms.length
    if (meter.spend(vector.terms.length)) yield
  }
  // Equal terms keep their order, and so the rows of each ascend.
  return new InvertedRows({ terms, rows, weights, order: yield* orderOf(terms) })
}

interface Postings {
  readonly terms: Uint32Array
  readonly rows: Uint32Array
  readonly weights: Float32Array
  readonly order: Uint32Array
}

class InvertedRows implements WeighedTerms {
  readonly #postings: Postings
  readonly #rows = new Uint32Array(ROWS_AT_ONCE)
  readonly #weights = new Float32Array(ROWS_AT_ONCE)
  #from = 0
  term: number

  constructor(postings: Postings) {
    this.#postings = postings
    this.term = this.#termAt(0)
  }

  *weighedRows(): Generator<WeighedRows> {
    for (let from = this.#from; this.#termAt(from) === this.term;) {
      const count = this.#copy(from)
      yield { rows: this.#rows.subarray(0, count), weights: this.#weights.subarray(0, count) }
      from += count
    }
  }

  next(): void {
    const { term } = this
    while (this.#termAt(this.#from) === term) this.#from += 1
    this.term = this.#termAt(this.#from)
  }

  #copy(from: number): number {
    const { rows, weights, order } = this.#postings
    let count = 0
    for (; count < ROWS_AT_ONCE && this.#termAt(from + count) === this.term; count += 1) {
      const at = order[from + count] ?? 0
      this.#rows[count] = rows[at] ?? 0
      this.#weights[count] = weights[at] ?? 0
    }
    return count
  }

  #termAt(at: number): number {
    const { order, terms } = this.#postings
    const place = order[at]
    return place === undefined ? NO_TERM : (terms[place] ?? NO_TERM)
  }
}
