// Rows of 32-bit floats that are measured together: how far they are from a query, by vector instructions that sum
// in 32 bits, and how much of that may be rounding.
//
//   query │ rows │ sums

import { assert } from '../../../../lib/assert.ts'
import { DIMENSION_MAX, type Metric } from '../../../embedding/settings.ts'
import { dotProduct } from './distance.ts'
import { BATCH_ROWS_MAX, BatchRoom, finite, type RowBatch, type RowQuery } from './row-batch.ts'
import { compileFloatKernels, FLOAT_STEP, type FloatKernel } from './float-kernels.ts'

const FLOAT_BYTES = 4
/** What a processor keeps near itself, or one row of the largest vectors. */
const ROWS_BYTES = Math.max(128 * 1024, DIMENSION_MAX * FLOAT_BYTES)
const PAGE_BYTES = 65_536
/** Half the distance between 1 and the next float. */
const ROUNDING = 2 ** -24
/** Below 2^-126 floats have fewer digits: sums may be wrong by this number. */
const SMALLEST = 2 ** -126
/** Squares of lengths, below which such an error would count in a quotient. */
const TINY = 2 ** -90

/** Rows by their numbers. */
export class FloatRows extends BatchRoom implements RowBatch {
  readonly #vectors: Float32Array
  readonly #sums: Float32Array
  readonly #squares: FloatKernel
  readonly #products: FloatKernel
  readonly #rowsAt: number
  readonly #sumsAt: number
  #metric: Metric = 'l2_squared'
  #dimension = 0
  #stride = 0
  #queryNorm = 0

  constructor() {
    super()
    this.#rowsAt = DIMENSION_MAX * FLOAT_BYTES
    this.#sumsAt = this.#rowsAt + ROWS_BYTES
    const bytes = this.#sumsAt + BATCH_ROWS_MAX * 2 * FLOAT_BYTES
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) })
    this.#vectors = new Float32Array(memory.buffer, 0, this.#sumsAt / FLOAT_BYTES)
    this.#sums = new Float32Array(memory.buffer, this.#sumsAt, BATCH_ROWS_MAX * 2)
    const { exports } = new WebAssembly.Instance(compileFloatKernels(), { host: { memory } })
    this.#squares = kernelOf(exports, 'squares')
    this.#products = kernelOf(exports, 'products')
  }

  begin({ metric, vector }: RowQuery): void {
    const { length } = vector
    this.#metric = metric
    this.#dimension = length
    this.#stride = Math.ceil(length / FLOAT_STEP) * FLOAT_STEP
    this.divide(ROWS_BYTES, this.#stride * FLOAT_BYTES)
    this.#queryNorm = Math.sqrt(dotProduct(vector, vector, 0))
    this.#vectors.set(vector)
    this.#vectors.fill(0, length, this.#stride)
  }

  /** Adds as many rows as fit of those that lie one behind the other from `at` on, and answers how many. */
  add(vectors: Float32Array, at: number, rowCount: number): number {
    const [dimension, stride] = [this.#dimension, this.#stride]
    let to = this.startOf(this.count)
    const added = this.take(rowCount)
    if (dimension === stride) {
      const length = added * dimension
      const isWhole = at === 0 && length === vectors.length
      this.#vectors.set(isWhole ? vectors : vectors.subarray(at, at + length), to)
      return added
    }
    for (let row = 0; row < added; row += 1) {
      const from = at + row * dimension
      this.#vectors.set(vectors.subarray(from, from + dimension), to)
      this.#vectors.fill(0, to + dimension, to + stride)
      to += stride
    }
    return added
  }

  measure(bar: number): number {
    const stride = this.#stride * FLOAT_BYTES
    const end = this.#rowsAt + this.count * stride
    const kernel = this.#metric === 'l2_squared' ? this.#squares : this.#products
    kernel(0, this.#rowsAt, end, stride, this.#sumsAt)
    return this.#gather(bar)
  }

  /** The exact distance differs by roundings alone. */
  leastOf(row: number): number {
    // Each of the FLOAT_STEP sums is rounded `stride / FLOAT_STEP` times; 8 are for their last additions, a product, a root.
    const rounding = (this.#stride / FLOAT_STEP + 8) * ROUNDING
    if (this.#metric === 'l2_squared') {
      const sum = this.#sums[row] ?? 0
      return finite(sum - sum * rounding * 2 - SMALLEST)
    }
    const product = this.#sums[row * 2] ?? 0
    const squares = this.#sums[row * 2 + 1] ?? 0
    const norms = this.#queryNorm * Math.sqrt(squares)
    if (this.#metric === 'inner_product') {
      return finite(-product - norms * rounding * 2 - SMALLEST)
    }
    const isTiny = squares < TINY || this.#queryNorm ** 2 < TINY
    return isTiny ? NaN : finite(1 - product / norms - rounding * 4)
  }

  #gather(bar: number): number {
    const { count, near } = this
    let found = 0
    for (let place = 0; place < count; place += 1) {
      // What cannot be told is not farther.
      if (this.leastOf(place) > bar) continue
      near[found] = place
      found += 1
    }
    return found
  }

  /** Where the numbers of a row are. */
  get vectors(): Float32Array {
    return this.#vectors
  }

  /** Where a row begins in `vectors`. */
  startOf(row: number): number {
    return this.#rowsAt / FLOAT_BYTES + row * this.#stride
  }
}

function kernelOf(exports: WebAssembly.Exports, name: string): FloatKernel {
  const found = exports[name]
  assert(isKernel(found), 'the module exports its kernels')
  return found
}

/** Whatever the module exports was compiled with five parameters. */
function isKernel(value: unknown): value is FloatKernel {
  return typeof value === 'function'
}
