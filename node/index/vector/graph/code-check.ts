// Chooses the codes of a graph. A sample of the segment's vectors is compared exactly and by their codes: the coarsest
// codes by which the near ones of the sample stay near are good enough.

import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { Quantization } from '../../../embedding/settings.ts'
import { distanceFrom } from '../kernels/distance.ts'
import type { GraphForm } from './graph-form.ts'
import {
  I8_MAX,
  Quantizer,
  type GraphCodes,
  type RangeFinder,
  type VectorKind,
} from './quantizer.ts'
import { coarseByteOf } from './coarse-byte.ts'
import type { GraphMetric, GraphVector } from './vector-graph.ts'

/** Rows of a sample, one behind the other. */
export interface SampledRows {
  readonly vectors: Float32Array
  readonly rowCount: number
}

/** At most 512 rows are compared with each query, and as few as 128 where they are long. */
const SAMPLE_ROWS_MAX = 512
const SAMPLE_ROWS_MIN = 128
const SAMPLE_NUMBERS = 2 ** 16
const QUERIES = 8
const NEAREST = 10
/** The share of the nearest that has to be among those that a search would compare exactly. */
const FOUND_MIN = 0.98
/** Codes of one bit a number that find this share of the nearest are kept: finer numbers would not be worth their memory. */
const FOUND_MIN_OF_BITS = 0.95

/** How many rows to take for a sample. */
export function sampleSize(dimension: number): number {
  return Math.max(
    SAMPLE_ROWS_MIN,
    Math.min(SAMPLE_ROWS_MAX, Math.floor(SAMPLE_NUMBERS / dimension)),
  )
}

/** What codes are chosen from. */
export interface CodeChoice {
  /** The coarsest first. */
  readonly forms: readonly GraphForm[]
  /** It was shown all rows. */
  readonly finder: RangeFinder
  readonly sample: SampledRows
}

/** The coarsest codes that are good enough for the sample; the finest if none are. */
export function* chooseCodes(
  kind: VectorKind,
  { forms, finder, sample }: CodeChoice,
): Sliced<GraphCodes> {
  let codes: GraphCodes | undefined
  for (const form of forms) {
    codes = finder.codes(form)
    if (yield* tellApart(kind, codes, sample)) return codes
  }
  return must(codes, 'a form')
}

/** Whether the near rows of a sample are near by their codes too. */
export function* tellApart(
  kind: VectorKind,
  codes: GraphCodes,
  sample: SampledRows,
): Sliced<boolean> {
  const { dimension } = kind
  const quantizer = new Quantizer(kind, codes)
  const kept: Float64Array[] = []
  for (let row = 0; row < sample.rowCount; row += 1) {
    kept.push(keptOf(quantizer.encode(sample.vectors, row * dimension), codes))
    if (row % ENCODED_PER_STEP === 0) yield
  }
  let [found, wanted] = [0, 0]
  for (const query of queriesOf(sample, kind)) {
    const exact = distanceFrom(kind.metric, query)
    const exactOf = (row: number): number => exact(sample.vectors, row * dimension)
    const near = nearestOf(sample.rowCount, NEAREST, exactOf)
    // Rows may be equally near.
    const bar = exactOf(near.at(-1) ?? 0)
    yield
    const coded = keptOf(quantizer.encodeQuery(query), codes)
    const distance = CODED[codes.form.metric]
    const close = nearestOf(sample.rowCount, COMPARED[codes.form.numbers], (row) => {
      return distance(coded, must(kept[row], 'a sampled row'))
    })
    found += Math.min(near.length, close.filter((row) => exactOf(row) <= bar).length)
    wanted += near.length
    yield
  }
  const least = codes.form.numbers === 'binary' ? FOUND_MIN_OF_BITS : FOUND_MIN
  return found >= wanted * least
}

const ENCODED_PER_STEP = 16
/** Among how many of a sample its ten nearest have to be. A search compares more, of many more rows. */
const COMPARED: Readonly<Record<Quantization, number>> = { f32: 10, f16: 12, i8: 16, binary: 64 }

/** Rows, and what lies between two: differences of them where the origin matters, so that not all look the same way. */
export function* queriesOf(
  { vectors, rowCount }: SampledRows,
  { dimension, metric }: VectorKind,
  count = QUERIES,
): Generator<Float32Array> {
  const rowAt = (n: number): Float32Array => {
    const row = Math.floor((n * rowCount) / count) % rowCount
    return vectors.subarray(row * dimension, (row + 1) * dimension)
  }
  for (let n = 0; n < count; n += 1) {
    const row = rowAt(n)
    const other = rowAt(n + count / 2)
    if (n % 2 === 0) yield row.slice()
    else if (metric === 'inner_product') yield row.map((value, i) => value - (other[i] ?? 0))
    else yield row.map((value, i) => value + ((other[i] ?? 0) - value) / BETWEEN)
  }
}

const BETWEEN = 8

/** The rows with the least distances. */
function nearestOf(
  rowCount: number,
  count: number,
  distanceOf: (row: number) => number,
): readonly number[] {
  const distances = Float64Array.from({ length: rowCount }, (_, row) => distanceOf(row))
  const rows = Array.from({ length: rowCount }, (_, row) => row)
  rows.sort((a, b) => (distances[a] ?? 0) - (distances[b] ?? 0) || a - b)
  return rows.slice(0, count)
}

const CODED: Readonly<Record<GraphMetric, (a: Float64Array, b: Float64Array) => number>> = {
  l2_squared: (a, b) => {
    let sum = 0
    for (let i = 0; i < a.length; i += 1) sum += ((a[i] ?? 0) - (b[i] ?? 0)) ** 2
    return sum
  },
  inner_product: (a, b) => {
    let sum = 0
    for (let i = 0; i < a.length; i += 1) sum -= (a[i] ?? 0) * (b[i] ?? 0)
    return sum
  },
  hamming: (a, b) => {
    let sum = 0
    for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) sum += 1
    return sum
  },
}

/** The numbers that a library keeps of what it is given. */
function keptOf(vector: GraphVector, { form }: GraphCodes): Float64Array {
  const kept = new Float64Array(vector)
  const keep = KEPT[form.numbers]
  if (keep === undefined) return kept
  for (let i = 0; i < kept.length; i += 1) kept[i] = keep(kept[i] ?? 0)
  return kept
}

const KEPT: Readonly<Record<Quantization, ((value: number) => number) | undefined>> = {
  f32: undefined,
  f16: halfOf,
  i8: (value) => coarseByteOf(value / I8_MAX),
  binary: (value) => (value > 0 ? 1 : 0),
}

/** Eleven bits of a number, as half floats have; below their normal range a fixed step. */
function halfOf(value: number): number {
  if (Math.abs(value) < HALF_NORMAL_MIN) return Math.round(value / HALF_STEP) * HALF_STEP
  const scaled = value * HALF_SPLIT
  return scaled - (scaled - value)
}

const HALF_NORMAL_MIN = 2 ** -14
const HALF_STEP = 2 ** -24
/** Veltkamp's split of a double, which leaves 11 of its 53 bits. */
const HALF_SPLIT = 2 ** 42 + 1
