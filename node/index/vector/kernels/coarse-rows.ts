// Rows of 7 bits a number that are measured together: at least how far they are from a query.
//
//   query (i8) │ rows (7 bits) │ sums (i32)
//
// With a query q that is about q', and a row x that is about x':
//
//   |q·x − q'·x'|  ≤  |q − q'|·|x'| + |q|·|x − x'|,  where |x'| ≤ |x| + |x − x'|

import { assert } from '../../../../lib/assert.ts'
import { DIMENSION_MAX, type Metric } from '../../../embedding/settings.ts'
import { coarseStrideOf, FACTS, type CoarseBlock } from './coarse-code.ts'
import { compileCoarseKernel, type CoarseKernel } from './coarse-kernel.ts'
import { dotProduct } from './distance.ts'
import { BATCH_ROWS_MAX, BatchRoom, finite, type RowBatch, type RowQuery } from './row-batch.ts'

/** What a processor keeps near itself. */
const ROWS_BYTES = 96 * 1024
const PAGE_BYTES = 65_536
/** A query's numbers go as far in each direction. */
const QUERY_MAX = 127
/** A share of the multiplied lengths: more than all roundings of doubles together. */
const ROUNDING = 1e-9
const LEAST = 1 - ROUNDING

/** Rows by their codes. */
export class CoarseRows extends BatchRoom implements RowBatch {
  readonly #query: Int8Array
  readonly #codes: Uint8Array
  readonly #sums: Int32Array
  readonly #facts = new Float64Array(BATCH_ROWS_MAX * FACTS)
  readonly #kernel: CoarseKernel
  readonly #rowsAt = DIMENSION_MAX
  readonly #sumsAt = DIMENSION_MAX + ROWS_BYTES
  #stride = 0
  #bound: BoundTerms = NO_TERMS

  constructor() {
    super()
    const bytes = this.#sumsAt + BATCH_ROWS_MAX * 4
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) })
    this.#query = new Int8Array(memory.buffer, 0, DIMENSION_MAX)
    this.#codes = new Uint8Array(memory.buffer, this.#rowsAt, ROWS_BYTES)
    this.#sums = new Int32Array(memory.buffer, this.#sumsAt, BATCH_ROWS_MAX)
    const { exports } = new WebAssembly.Instance(compileCoarseKernel(), { host: { memory } })
    this.#kernel = kernelOf(exports)
  }

  begin({ metric, vector }: RowQuery): void {
    this.#stride = coarseStrideOf(vector.length)
    this.divide(ROWS_BYTES, this.#stride)
    this.#query.fill(0, vector.length, this.#stride)
    const norm = Math.sqrt(dotProduct(vector, vector, 0))
    const { step, sum, error } = this.#round(vector)
    this.#bound = {
      metric,
      norm,
      ofLeast: step * sum,
      ofStep: step,
      ofError: (error + norm) * (1 + ROUNDING),
      ofNorm: error * (1 + ROUNDING) + norm * ROUNDING,
    }
  }

  /** Adds as many rows as fit, and answers how many. */
  add({ codes, facts, at, rowCount }: CoarseBlock): number {
    const to = this.count
    const added = this.take(rowCount)
    const stride = this.#stride
    this.#codes.set(codes.subarray(at * stride, (at + added) * stride), to * stride)
    this.#facts.set(facts.subarray(at * FACTS, (at + added) * FACTS), to * FACTS)
    return added
  }

  measure(bar: number): number {
    const end = this.#rowsAt + this.count * this.#stride
    this.#kernel(0, this.#rowsAt, end, this.#stride, this.#sumsAt)
    return this.#gather(bar)
  }

  leastOf(row: number): number {
    const at = row * FACTS
    const facts = this.#facts
    const norm = facts[at + 3] ?? 0
    const { metric, norm: queryNorm, ofLeast, ofStep, ofError, ofNorm } = this.#bound
    // The upper bound of the product of the query and the row.
    const most =
      (facts[at] ?? 0) * ofLeast +
      (facts[at + 1] ?? 0) * ofStep * (this.#sums[row] ?? 0) +
      (facts[at + 2] ?? 0) * ofError +
      norm * ofNorm
    if (metric === 'inner_product') return finite(-most)
    const lengths = queryNorm * norm
    if (metric === 'cosine') return lengths < TINY ? NaN : finite(1 - most / lengths)
    const squares = (queryNorm * queryNorm + norm * norm) * LEAST
    return finite(squares - 2 * most)
  }

  /** As `leastOf` says, without its quotient: a row is farther if its product is too small for the bar. */
  #gather(bar: number): number {
    const [facts, sums, near, count] = [this.#facts, this.#sums, this.near, this.count]
    const { metric, norm: queryNorm, ofLeast, ofStep, ofError, ofNorm } = this.#bound
    const isCosine = metric === 'cosine'
    const isSquared = metric === 'l2_squared'
    // The smallest product is a polynomial of the row's length.
    const fixed = isCosine ? 0 : isSquared ? (queryNorm * queryNorm * LEAST - bar) / 2 : -bar
    const byNorm = ofNorm - (isCosine ? (1 - bar) * queryNorm : 0)
    const bySquare = isSquared ? LEAST / 2 : 0
    let found = 0
    for (let row = 0, at = 0; row < count; row += 1, at += FACTS) {
      const norm = facts[at + 3] ?? 0
      const missing =
        (facts[at] ?? 0) * ofLeast +
        (facts[at + 1] ?? 0) * ofStep * (sums[row] ?? 0) +
        (facts[at + 2] ?? 0) * ofError +
        norm * (byNorm - norm * bySquare) -
        fixed
      // What cannot be told is not farther.
      if (missing < 0) continue
      near[found] = row
      found += 1
    }
    return found
  }

  /** The query as integers: a multiple of `step` each, all of which together miss it by `error`. */
  #round(vector: Float32Array) {
    const { length } = vector
    let largest = 0
    for (let i = 0; i < length; i += 1) largest = Math.max(largest, Math.abs(vector[i] ?? 0))
    const step = largest / QUERY_MAX
    const factor = step > 0 ? 1 / step : 0
    let [sum, errors] = [0, 0]
    for (let i = 0; i < length; i += 1) {
      const value = vector[i] ?? 0
      const integer = Math.round(value * factor)
      const error = value - step * integer
      this.#query[i] = integer
      sum += integer
      errors += error * error
    }
    return { step, sum, error: Math.sqrt(errors) }
  }
}

/** How the facts of a row, and the sum of its products, add up to the largest product that its vector may have. */
interface BoundTerms {
  readonly metric: Metric
  /** The length of the query. */
  readonly norm: number
  readonly ofLeast: number
  readonly ofStep: number
  readonly ofError: number
  readonly ofNorm: number
}

const NO_TERMS: BoundTerms = {
  metric: 'cosine',
  norm: 0,
  ofLeast: 0,
  ofStep: 0,
  ofError: 0,
  ofNorm: 0,
}
/** Lengths whose product a quotient cannot be told by. */
const TINY = 1e-60

function kernelOf({ products }: WebAssembly.Exports): CoarseKernel {
  assert(isKernel(products), 'the module exports its kernel')
  return products
}

/** What the module exports was compiled with five parameters. */
function isKernel(value: unknown): value is CoarseKernel {
  return typeof value === 'function'
}
