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
import type { FloatQuery } from './float-rows.ts'

/** What a processor keeps near itself. */
const ROWS_BYTES = 96 * 1024
/** The most rows that are measured together, however small they are. */
const ROWS_MAX = 256
const PAGE_BYTES = 65_536
/** A query's numbers go as far in each direction. */
const QUERY_MAX = 127
/** More than all roundings of doubles on the way, of the lengths that are multiplied. */
const ROUNDING = 1e-9

/** One memory of a thread: what is measured in one step is read before the next. */
export class CoarseRows {
  /** What the caller calls the rows: for its own use. */
  readonly rows = new Uint32Array(ROWS_MAX)
  readonly #query: Int8Array
  readonly #codes: Uint8Array
  readonly #sums: Int32Array
  readonly #facts = new Float64Array(ROWS_MAX * FACTS)
  readonly #kernel: CoarseKernel
  readonly #rowsAt = DIMENSION_MAX
  readonly #sumsAt = DIMENSION_MAX + ROWS_BYTES
  #metric: Metric = 'l2_squared'
  #stride = 0
  #capacity = 0
  #count = 0
  /** How long the query is, what it is a multiple of, the sum of its integers, and how much they miss it by. */
  #of = { norm: 0, step: 0, sum: 0, error: 0 }

  constructor() {
    const bytes = this.#sumsAt + ROWS_MAX * 4
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) })
    this.#query = new Int8Array(memory.buffer, 0, DIMENSION_MAX)
    this.#codes = new Uint8Array(memory.buffer, this.#rowsAt, ROWS_BYTES)
    this.#sums = new Int32Array(memory.buffer, this.#sumsAt, ROWS_MAX)
    const { exports } = new WebAssembly.Instance(compileCoarseKernel(), { host: { memory } })
    this.#kernel = kernelOf(exports)
  }

  /** Forgets all rows, and takes a query. The vector has at most DIMENSION_MAX numbers. */
  begin({ metric, vector }: FloatQuery): void {
    this.#metric = metric
    this.#stride = coarseStrideOf(vector.length)
    this.#capacity = Math.min(ROWS_MAX, Math.floor(ROWS_BYTES / this.#stride))
    this.#query.fill(0, vector.length, this.#stride)
    this.#of = { norm: Math.sqrt(dotProduct(vector, vector, 0)), ...this.#round(vector) }
    this.clear()
  }

  /** For more rows and the same query, in the same step. */
  clear(): void {
    this.#count = 0
  }

  get isFull(): boolean {
    return this.#count === this.#capacity
  }

  get count(): number {
    return this.#count
  }

  /** Adds as many rows as fit, and answers how many. */
  add({ codes, facts, at, rowCount }: CoarseBlock): number {
    const added = Math.min(rowCount, this.#capacity - this.#count)
    const stride = this.#stride
    this.#codes.set(codes.subarray(at * stride, (at + added) * stride), this.#count * stride)
    this.#facts.set(facts.subarray(at * FACTS, (at + added) * FACTS), this.#count * FACTS)
    this.#count += added
    return added
  }

  /** Before `leastOf`: all rows are measured. There is one at least. */
  measure(): void {
    const end = this.#rowsAt + this.#count * this.#stride
    this.#kernel(0, this.#rowsAt, end, this.#stride, this.#sumsAt)
  }

  /** The row is at least as far away. NaN where that cannot be told. */
  leastOf(row: number): number {
    const facts = this.#facts
    const [least, step] = [facts[row * FACTS] ?? 0, facts[row * FACTS + 1] ?? 0]
    const [error, norm] = [facts[row * FACTS + 2] ?? 0, facts[row * FACTS + 3] ?? 0]
    const query = this.#of
    const product = query.step * (least * query.sum + step * (this.#sums[row] ?? 0))
    const lengths = query.norm * norm
    const missed = query.error * (norm + error) + query.norm * error
    const most = product + missed + (lengths + missed) * ROUNDING
    if (this.#metric === 'inner_product') return finite(-most)
    if (this.#metric === 'cosine') return lengths < TINY ? NaN : finite(1 - most / lengths)
    const squares = query.norm * query.norm + norm * norm
    return finite(squares - 2 * most - squares * ROUNDING)
  }

  #round(vector: Float32Array) {
    let largest = 0
    for (const value of vector) largest = Math.max(largest, Math.abs(value))
    const step = largest / QUERY_MAX
    let [sum, errors] = [0, 0]
    for (const [i, value] of vector.entries()) {
      const integer = step > 0 ? Math.round(value / step) : 0
      const error = value - step * integer
      this.#query[i] = integer
      sum += integer
      errors += error * error
    }
    return { step, sum, error: Math.sqrt(errors) }
  }
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

/** Lengths that overflowed tell nothing. */
function finite(value: number): number {
  return Number.isFinite(value) ? value : NaN
}
