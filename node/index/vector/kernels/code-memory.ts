// Rows of small integers where the kernels can read them, and one query at a time.
//
//   query (i16) │ row numbers (u32) │ distances (f32) │ rows (i8, each at a multiple of 16)

import { assert } from '../../../../lib/assert.ts'
import { CoarseRows } from './coarse-rows.ts'
import { FloatRows } from './float-rows.ts'
import { compileKernels, type IntegerMetric, type SimdKernel } from './simd-kernels.ts'

/** Rows that are measured together: some tens of microseconds. */
export const MEASURED_MAX = 1024
const PAGE_BYTES = 65_536
const ROW_ALIGNMENT = 16
/** The most bytes of a memory, well below what 32 bits count. */
const BYTES_MAX = 2 ** 31

/** The bytes of a row of `dimension` numbers. */
export function strideOf(dimension: number): number {
  return Math.ceil(dimension / ROW_ALIGNMENT) * ROW_ALIGNMENT
}

/** Whether `rowCount` rows fit into one memory. */
export function fitsMemory(dimension: number, rowCount: number): boolean {
  return frontOf(dimension).codes + strideOf(dimension) * rowCount <= BYTES_MAX
}

function frontOf(dimension: number) {
  const rows = strideOf(dimension) * 2
  const distances = rows + MEASURED_MAX * 4
  return { rows, distances, codes: distances + MEASURED_MAX * 4 }
}

/** The kernels, compiled once for all memories of a thread. */
export class Kernels {
  readonly #module = compileKernels()
  /** For vectors that are compared one by one; made when they are needed first. */
  #floats: FloatRows | undefined
  #coarse: CoarseRows | undefined

  get floats(): FloatRows {
    this.#floats ??= new FloatRows()
    return this.#floats
  }

  get coarse(): CoarseRows {
    this.#coarse ??= new CoarseRows()
    return this.#coarse
  }

  /** Zeros. The rows fit: see `fitsMemory`. */
  memoryOf(dimension: number, rowCount: number): CodeMemory {
    return new CodeMemory(this.#module, dimension, rowCount)
  }
}

/** What is measured in one step is read before the next: all searches of a memory share it. */
export class CodeMemory {
  /** All rows, as bytes; row r begins at `r * strideOf(dimension)`. */
  readonly codes: Uint8Array
  /** The numbers of the rows that `measure` compares: written by the caller. */
  readonly rows: Uint32Array
  /** How far they are: smaller is nearer. */
  readonly distances: Float32Array
  readonly #query: Int16Array
  readonly #kernels: Readonly<Record<IntegerMetric, SimdKernel>>
  readonly #front: ReturnType<typeof frontOf>
  readonly #stride: number

  constructor(module: WebAssembly.Module, dimension: number, rowCount: number) {
    this.#front = frontOf(dimension)
    this.#stride = strideOf(dimension)
    const bytes = this.#front.codes + this.#stride * rowCount
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) })
    const { buffer } = memory
    this.codes = new Uint8Array(buffer, this.#front.codes, this.#stride * rowCount)
    this.rows = new Uint32Array(buffer, this.#front.rows, MEASURED_MAX)
    this.distances = new Float32Array(buffer, this.#front.distances, MEASURED_MAX)
    this.#query = new Int16Array(buffer, 0, dimension)
    const { exports } = new WebAssembly.Instance(module, { host: { memory } })
    this.#kernels = {
      l2_squared: kernelOf(exports, 'l2_squared'),
      inner_product: kernelOf(exports, 'inner_product'),
    }
  }

  /** Measures the first `count` of `rows`, at least one. The query has the dimension. */
  measure(query: Int8Array, metric: IntegerMetric, count: number): void {
    this.setQuery(query, metric)
    this.measureAgain(metric, count)
  }

  setQuery(query: Int8Array, metric: IntegerMetric): void {
    // By products, the largest is the nearest.
    const sign = metric === 'inner_product' ? -1 : 1
    for (let i = 0; i < query.length; i += 1) this.#query[i] = sign * (query[i] ?? 0)
  }

  /** Measures by the query of `measure`, in the same step. */
  measureAgain(metric: IntegerMetric, count: number): void {
    const { rows, distances, codes } = this.#front
    this.#kernels[metric](0, rows, rows + count * 4, codes, this.#stride, distances)
  }
}

function kernelOf(exports: WebAssembly.Exports, metric: IntegerMetric): SimdKernel {
  const found = exports[metric]
  assert(isKernel(found), 'the module exports its kernels')
  return found
}

/** Whatever the module exports under a metric was compiled with six parameters. */
function isKernel(value: unknown): value is SimdKernel {
  return typeof value === 'function'
}
