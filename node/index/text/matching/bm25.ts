// BM25 with Lucene's idf: idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / averageLength)),
// idf = ln(1 + (N - df + 0.5) / (df + 0.5)). N counts the live documents that have the field, and
// lengths are the quantised ones of small-float.ts, in the average too.

import { lengthOfByte } from '../encoding/small-float.ts'
import type { FieldStatistics } from '../segment/segment.ts'

export const K1 = 1.2
export const B = 0.75

const LENGTHS = Float64Array.from({ length: 256 }, (_, byte) => lengthOfByte(byte))

export function idfOf(docFreq: number, docCount: number): number {
  return Math.log(1 + (docCount - docFreq + 0.5) / (docFreq + 0.5))
}

/** The share of the length in the divisor, by norm byte. Byte 0, no length, counts as average. */
export function lengthTable({ docCount, totalLength }: FieldStatistics): Float64Array {
  const average = docCount === 0 ? 1 : totalLength / docCount
  const table = new Float64Array(256)
  for (let byte = 0; byte < table.length; byte += 1) {
    const ratio = byte === 0 || average === 0 ? 1 : (LENGTHS[byte] ?? 0) / average
    table[byte] = K1 * (1 - B + B * ratio)
  }
  return table
}
