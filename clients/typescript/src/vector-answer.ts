// Decodes vectors in binary, little-endian: u64 count, u64 dimension, then count × dimension f32, row by
// row.

import { QuarryError } from './errors.ts'

const HEADER_BYTES = 16
const FLOAT_BYTES = 4

/** The vectors of an answer. Throws QuarryError if its length does not match its header. */
export function vectorsOf(answer: ArrayBuffer): readonly Float32Array[] {
  if (answer.byteLength < HEADER_BYTES) return []
  const view = new DataView(answer)
  const count = Number(view.getBigUint64(0, true))
  const dimension = Number(view.getBigUint64(HEADER_BYTES / 2, true))
  const expected = HEADER_BYTES + count * dimension * FLOAT_BYTES
  if (answer.byteLength !== expected) {
    throw new QuarryError(`an answer of vectors has ${answer.byteLength} bytes, not ${expected}`)
  }
  return Array.from({ length: count }, (_, row) => vectorAt(view, row * dimension, dimension))
}

/** A copy, so that a kept vector does not keep the whole answer in memory. */
function vectorAt(view: DataView, first: number, dimension: number): Float32Array {
  return Float32Array.from({ length: dimension }, (_, at) =>
    view.getFloat32(HEADER_BYTES + (first + at) * FLOAT_BYTES, true),
  )
}
