// What a graph is given for a vector. The graph's own numbers are coarse (half floats, small integers,
// bits), so each segment moves and scales its vectors into their range before. Neither changes which of two
// vectors is nearer:
//   cosine          vectors of length 1; their distances order as the angles do, by either metric
//   l2_squared      distances order the same wherever the origin is, and whatever the unit is
//   inner_product   the origin stays; the unit does not matter

import { must, unreachable } from '../../../../lib/assert.ts'
import type { DenseIndexSettings, Metric, Quantization } from '../../../embedding/settings.ts'
import { dotProduct } from '../kernels/distance.ts'
import type { IntegerMetric } from '../kernels/simd-kernels.ts'
import type { GraphMetric, GraphShape, GraphVector } from './vector-graph.ts'

/** How the vectors of a segment are moved and scaled. */
export interface QuantizerRange {
  /** Taken off each vector; empty for none. */
  readonly center: Float32Array
  /** Then divides it. */
  readonly scale: number
}

const I8_MAX = 127

/** Small integers have a common step: differences of normed vectors then tell more than their products. */
const METRICS = {
  f32: { l2_squared: 'l2_squared', inner_product: 'inner_product', cosine: 'inner_product' },
  f16: { l2_squared: 'l2_squared', inner_product: 'inner_product', cosine: 'inner_product' },
  i8: { l2_squared: 'l2_squared', inner_product: 'inner_product', cosine: 'l2_squared' },
  binary: { l2_squared: 'hamming', inner_product: 'hamming', cosine: 'hamming' },
} as const satisfies Readonly<Record<Quantization, Readonly<Record<Metric, GraphMetric>>>>

export function graphShapeOf({ dimension, metric, quantization }: DenseIndexSettings): GraphShape {
  return { dimension, quantization, metric: METRICS[quantization][metric] }
}

/** By what small integers are compared. */
export function integerMetricOf(metric: Metric): IntegerMetric {
  return METRICS.i8[metric]
}

/** Makes vectors ready for the graph of one segment. */
export class Quantizer {
  readonly #isNormed: boolean
  readonly #scale: number
  /** The center, divided as the vectors are. */
  readonly #moved: Float64Array
  readonly #floats: Float32Array
  readonly #integers: Int8Array | undefined

  constructor({ dimension, metric, quantization }: DenseIndexSettings, range: QuantizerRange) {
    this.#isNormed = metric === 'cosine'
    this.#scale = range.scale
    this.#moved = Float64Array.from(range.center, (value) => value / range.scale)
    this.#floats = new Float32Array(dimension)
    this.#integers = quantization === 'i8' ? new Int8Array(dimension) : undefined
  }

  /** Good until the next call. */
  encode(vectors: Float32Array, at: number): GraphVector {
    const floats = this.#floats
    const moved = this.#moved
    const factor = (this.#isNormed ? 1 / normOf(vectors, at, floats.length) : 1) / this.#scale
    if (moved.length === 0) {
      for (let i = 0; i < floats.length; i += 1) floats[i] = (vectors[at + i] ?? 0) * factor
    } else {
      for (let i = 0; i < floats.length; i += 1) {
        floats[i] = (vectors[at + i] ?? 0) * factor - (moved[i] ?? 0)
      }
    }
    return this.#integers === undefined ? floats : this.#round(this.#integers)
  }

  /** The same for `i8` alone. */
  integersOf(vectors: Float32Array, at: number): Int8Array {
    this.encode(vectors, at)
    return must(this.#integers, 'small integers')
  }

  #round(integers: Int8Array): Int8Array {
    for (let i = 0; i < integers.length; i += 1) {
      integers[i] = Math.max(-I8_MAX, Math.min(I8_MAX, Math.round(this.#floats[i] ?? 0)))
    }
    return integers
  }
}

/** The range of the vectors that it was shown. */
export class RangeFinder {
  readonly #settings: DenseIndexSettings
  readonly #sums: Float64Array
  #squares = 0
  #largest = 0
  #count = 0

  constructor(settings: DenseIndexSettings) {
    this.#settings = settings
    this.#sums = new Float64Array(settings.dimension)
  }

  /** Whether the vectors matter: those of length 1 fit half floats as they are. */
  get isNeeded(): boolean {
    const { metric, quantization } = this.#settings
    return metric !== 'cosine' || quantization === 'i8' || quantization === 'binary'
  }

  add(vectors: Float32Array, at: number): void {
    const sums = this.#sums
    const isNormed = this.#settings.metric === 'cosine'
    const factor = isNormed ? 1 / normOf(vectors, at, sums.length) : 1
    for (let i = 0; i < sums.length; i += 1) {
      const value = (vectors[at + i] ?? 0) * factor
      sums[i] = (sums[i] ?? 0) + value
      this.#squares += value * value
      this.#largest = Math.max(this.#largest, Math.abs(value))
    }
    this.#count += 1
  }

  range(): QuantizerRange {
    const { metric, quantization } = this.#settings
    const count = Math.max(1, this.#count)
    const mean = Float32Array.from(this.#sums, (sum) => sum / count)
    const isCentered = metric !== 'inner_product'
    switch (quantization) {
      case 'f32':
      case 'f16':
        return { center: NO_CENTER, scale: this.isNeeded ? powerBelow(this.#largest) : 1 }
      case 'binary':
        return { center: mean, scale: 1 }
      case 'i8':
        return { center: isCentered ? mean : NO_CENTER, scale: this.#step(mean, isCentered) }
      default:
        return unreachable(quantization)
    }
  }

  /** Rare large numbers are cut off, so that all others have finer steps. */
  #step(mean: Float32Array, isCentered: boolean): number {
    const numbers = Math.max(1, this.#count) * mean.length
    const meanSquare = isCentered ? dotProduct(mean, mean, 0) / mean.length : 0
    const deviation = Math.sqrt(Math.max(0, this.#squares / numbers - meanSquare))
    const reach = Math.min(this.#largest * (isCentered ? 2 : 1), deviation * DEVIATIONS_MAX)
    return reach > 0 ? reach / I8_MAX : 1
  }
}

const DEVIATIONS_MAX = 4
const NO_CENTER = new Float32Array(0)

/** A power of two: divisions by it are exact. */
function powerBelow(value: number): number {
  return value > 0 ? 2 ** Math.floor(Math.log2(value)) : 1
}

function normOf(vectors: Float32Array, at: number, length: number): number {
  const norm = Math.sqrt(dotProduct(vectors.subarray(at, at + length), vectors, at))
  return norm === 0 ? 1 : norm
}
