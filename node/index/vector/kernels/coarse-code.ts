// Vectors in 7 bits a number: each number of a row is about `least + step × code`, and the facts of the row tell how much
// all its numbers together differ from that. So a distance of codes bounds the exact one.

import { COARSE_STEP } from './coarse-kernel.ts'

/** Codes go from 0 to this. */
const CODE_MAX = 127
/** The numbers beside the codes of a row, in this order: least, step, error and norm, as lengths of vectors. */
export const FACTS = 4

/** Rows that lie one behind the other. */
export interface CoarseBlock {
  readonly codes: Uint8Array
  readonly facts: Float64Array
  /** The first row is that of this number in both. */
  readonly at: number
  readonly rowCount: number
}

/** The bytes of the codes of a row. */
export function coarseStrideOf(dimension: number): number {
  return Math.ceil(dimension / COARSE_STEP) * COARSE_STEP
}

/** The bytes of a row in memory: its codes and its facts. */
export function coarseRowBytes(dimension: number): number {
  return coarseStrideOf(dimension) + FACTS * Float64Array.BYTES_PER_ELEMENT
}

/** A vector, and where it begins. */
export interface PlacedVector {
  readonly vectors: Float32Array
  readonly at: number
  readonly dimension: number
}

/** Writes the codes and the facts of a vector as row `row`. What lies behind the codes of a row stays. */
export function encodeCoarsely(
  { vectors, at, dimension }: PlacedVector,
  { codes, facts }: Pick<CoarseBlock, 'codes' | 'facts'>,
  row: number,
): void {
  let [least, most, squares] = [Infinity, -Infinity, 0]
  for (let i = 0; i < dimension; i += 1) {
    const value = vectors[at + i] ?? 0
    if (value < least) least = value
    if (value > most) most = value
    squares += value * value
  }
  const step = (most - least) / CODE_MAX
  const factor = step > 0 ? 1 / step : 0
  const start = row * coarseStrideOf(dimension)
  let errors = 0
  for (let i = 0; i < dimension; i += 1) {
    const value = vectors[at + i] ?? 0
    // A quotient may be rounded up to a little above the last code: half a step more is cut off.
    const code = ((value - least) * factor + 0.5) | 0
    const error = value - (least + step * code)
    codes[start + i] = code
    errors += error * error
  }
  facts[row * FACTS] = least
  facts[row * FACTS + 1] = step
  facts[row * FACTS + 2] = Math.sqrt(errors)
  facts[row * FACTS + 3] = Math.sqrt(squares)
}
