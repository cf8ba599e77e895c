// What a graph is given for a vector. The graph's own numbers are coarse (half floats, small integers,
// bits), so each segment moves and scales its vectors into their range before. Neither changes which of two
// rows is nearer to a query (graph-form.ts).

import { must, unreachable } from '../../../../lib/assert.ts'
import type { DenseIndexSettings, Metric } from '../../../embedding/settings.ts'
import { dotProduct } from '../kernels/distance.ts'
import type { GraphForm } from './graph-form.ts'
import type { GraphVector } from './vector-graph.ts'

/** How the vectors of a segment are moved and scaled. */
export interface QuantizerRange {
  /** Taken off each row; empty for none. */
  readonly center: Float32Array
  /** Then divides it. */
  readonly scale: number
}

/** In which form a graph has the vectors of its segment. */
export interface GraphCodes extends QuantizerRange {
  readonly form: GraphForm
}

/** What an index's vectors are, as far as it matters to their codes. */
export type VectorKind = Pick<DenseIndexSettings, 'dimension' | 'metric'>

export const I8_MAX = 127

/** Makes vectors ready for the graph of one segment. */
export class Quantizer {
  readonly #isNormed: boolean
  readonly #isProduct: boolean
  readonly #scale: number
  /** The center, divided as the vectors are. */
  readonly #moved: Float64Array
  readonly #floats: Float32Array
  readonly #integers: Int8Array | undefined

  constructor({ dimension, metric }: VectorKind, { form, center, scale }: GraphCodes) {
    this.#isNormed = metric === 'cosine'
    this.#isProduct = metric === 'inner_product'
    this.#scale = scale
    this.#moved = Float64Array.from(center, (value) => value / scale)
    this.#floats = new Float32Array(dimension)
    this.#integers = form.numbers === 'i8' ? new Int8Array(dimension) : undefined
  }

  /** A row of the graph: good until the next call. */
  encode(vectors: Float32Array, at: number): GraphVector {
    const floats = this.#floats
    const moved = this.#moved
    const factor = this.#normFactor(vectors, at) / this.#scale
    if (moved.length === 0) {
      for (let i = 0; i < floats.length; i += 1) floats[i] = (vectors[at + i] ?? 0) * factor
    } else {
      for (let i = 0; i < floats.length; i += 1) {
        floats[i] = (vectors[at + i] ?? 0) * factor - (moved[i] ?? 0)
      }
    }
    return this.#rounded()
  }

  /** The query as rows are compared with it, which may differ from the same vector as a row. Good until the next call. */
  encodeQuery(query: Float32Array): GraphVector {
    if (!this.#isProduct) return this.encode(query, 0)
    // Its length matters to no order, and its origin has to stay: it has the range of its own numbers.
    const largest = query.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    const scale = this.#integers === undefined ? powerBelow(largest) : largest / I8_MAX
    for (let i = 0; i < this.#floats.length; i += 1) {
      this.#floats[i] = scale === 0 ? 0 : (query[i] ?? 0) / scale
    }
    return this.#rounded()
  }

  /** The same for `i8` alone. */
  integersOf(vectors: Float32Array, at: number): Int8Array {
    this.encode(vectors, at)
    return must(this.#integers, 'small integers')
  }

  /** The same for `i8` alone. */
  queryIntegers(query: Float32Array): Int8Array {
    this.encodeQuery(query)
    return must(this.#integers, 'small integers')
  }

  #normFactor(vectors: Float32Array, at: number): number {
    return this.#isNormed ? 1 / normOf(vectors, at, this.#floats.length) : 1
  }

  #rounded(): GraphVector {
    const integers = this.#integers
    if (integers === undefined) return this.#floats
    for (let i = 0; i < integers.length; i += 1) {
      integers[i] = Math.max(-I8_MAX, Math.min(I8_MAX, Math.round(this.#floats[i] ?? 0)))
    }
    return integers
  }
}

/** The range of the vectors that it was shown. */
export class RangeFinder {
  readonly #metric: Metric
  readonly #sums: Float64Array
  #squares = 0
  #largest = 0
  #count = 0

  constructor({ dimension, metric }: VectorKind) {
    this.#metric = metric
    this.#sums = new Float64Array(dimension)
  }

  add(vectors: Float32Array, at: number): void {
    const sums = this.#sums
    const isNormed = this.#metric === 'cosine'
    const factor = isNormed ? 1 / normOf(vectors, at, sums.length) : 1
    let squares = 0
    let largest = this.#largest
    for (let i = 0; i < sums.length; i += 1) {
      const value = (vectors[at + i] ?? 0) * factor
      sums[i] = (sums[i] ?? 0) + value
      squares += value * value
      largest = Math.max(largest, Math.abs(value))
    }
    this.#squares += squares
    this.#largest = largest
    this.#count += 1
  }

  codes(form: GraphForm): GraphCodes {
    const count = Math.max(1, this.#count)
    const mean = Float32Array.from(this.#sums, (sum) => sum / count)
    const center = form.isCentered ? mean : NO_CENTER
    const largest = this.#largest * (form.isCentered ? 2 : 1)
    switch (form.numbers) {
      case 'f32':
      case 'f16':
        return { form, center, scale: powerBelow(largest) }
      case 'binary':
        return { form, center, scale: 1 }
      case 'i8':
        return { form, center, scale: this.#reach(center, largest) / I8_MAX || 1 }
      default:
        return unreachable(form.numbers)
    }
  }

  /** Rare large numbers are cut off, so that all others have finer steps. Of products they are the largest part. */
  #reach(center: Float32Array, largest: number): number {
    const numbers = Math.max(1, this.#count) * this.#sums.length
    const meanSquare = dotProduct(center, center, 0) / this.#sums.length
    const deviation = Math.sqrt(Math.max(0, this.#squares / numbers - meanSquare))
    return Math.min(largest, deviation * DEVIATIONS_MAX[this.#metric])
  }
}

const DEVIATIONS_MAX: Readonly<Record<Metric, number>> = {
  l2_squared: 4,
  cosine: 4,
  inner_product: 16,
}
const NO_CENTER = new Float32Array(0)

/** A power of two: divisions by it are exact. */
function powerBelow(value: number): number {
  return value > 0 ? 2 ** Math.floor(Math.log2(value)) : 1
}

function normOf(vectors: Float32Array, at: number, length: number): number {
  const norm = Math.sqrt(dotProduct(vectors.subarray(at, at + length), vectors, at))
  return norm === 0 ? 1 : norm
}
