// The first two principal components of a few vectors, by orthogonal iteration on their Gram matrix:
// its eigenvectors, scaled by the roots of their eigenvalues, are the coordinates.

import { seededRandom } from '../../../lib/random.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { GramMatrix } from './gram-matrix.ts'

/** Two numbers for each point, x before y. */
export type PlanePoints = Float64Array

const SEED = 1
/** More change nothing that an eye sees, unless both eigenvalues are almost equal; then any turn is right. */
const ITERATIONS_MAX = 200
/** Iterations end when no coordinate of a unit vector moves by more. */
const MOVE_MIN = 1e-10
const PRODUCTS_PER_STEP = 500_000
/** A smaller part of the first eigenvalue is rounding: the points lie on a line, or in one place. */
const RATIO_MIN = 1e-12

/** The largest coordinate of each component is positive, so equal points give equal pictures. */
export function* principalComponents(gram: GramMatrix): Sliced<PlanePoints> {
  const { count } = gram
  const meter = new StepMeter(PRODUCTS_PER_STEP)
  const random = seededRandom(SEED)
  const points = new Float64Array(2 * count)
  const known: Float64Array[] = []
  let largest = 0
  for (let component = 0; component < 2; component++) {
    const start = Float64Array.from({ length: count }, () => random() - 0.5)
    const { vector, value } = yield* iterate(gram, { start, known }, meter)
    largest = Math.max(largest, value)
    if (value <= largest * RATIO_MIN) break
    known.push(vector)
    const scale = signOf(vector) * Math.sqrt(value)
    for (let i = 0; i < count; i++) points[2 * i + component] = (vector[i] ?? 0) * scale
  }
  return points
}

interface Eigenvector {
  readonly vector: Float64Array
  readonly value: number
}

/** The eigenvector of the largest eigenvalue, beside those that are known. */
function* iterate(
  gram: GramMatrix,
  { start, known }: { readonly start: Float64Array; readonly known: readonly Float64Array[] },
  meter: StepMeter,
): Sliced<Eigenvector> {
  let vector = start
  let value = 0
  normalise(vector, known)
  for (let left = ITERATIONS_MAX; left > 0; left--) {
    const next = new Float64Array(gram.count)
    for (let row = 0; row < gram.count; row++) {
      if (meter.spend(gram.count)) yield
      next[row] = rowProduct(gram, row, vector)
    }
    value = normalise(next, known)
    const before = vector
    vector = next
    if (next.every((one, i) => Math.abs(one - (before[i] ?? 0)) < MOVE_MIN)) break
  }
  return { vector, value }
}

function rowProduct({ count, products }: GramMatrix, row: number, vector: Float64Array): number {
  const start = row * count
  let sum = 0
  for (let i = 0; i < count; i++) sum += (products[start + i] ?? 0) * (vector[i] ?? 0)
  return sum
}

/** Takes what lies along known vectors away, and makes the length 1. Answers the length before. */
function normalise(vector: Float64Array, known: readonly Float64Array[]): number {
  for (const other of known) {
    const along = vector.reduce((sum, one, i) => sum + one * (other[i] ?? 0), 0)
    for (let i = 0; i < vector.length; i++) {
      vector[i] = (vector[i] ?? 0) - along * (other[i] ?? 0)
    }
  }
  const length = Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0))
  if (length > 0) for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] ?? 0) / length
  return length
}

function signOf(vector: Float64Array): number {
  let largest = 0
  for (const one of vector) if (Math.abs(one) > Math.abs(largest)) largest = one
  return largest < 0 ? -1 : 1
}
