// Numbers with all their digits, from the terms beside a column of doubles (mapping/exact-numbers.ts). Few
// segments have such terms; the others are read by their columns alone.

import { compareExactly, decimalOfOrdered, isBeyondDoubles } from '../../../document/decimal.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { EXACT_SUFFIX } from '../mapping/field-names.ts'
import type { ColumnReader } from '../segment/column.ts'
import type { Segment } from '../segment/segment.ts'
import type { BucketKey } from './aggregation-partial.ts'

/** The terms beside the column, ready to be read; undefined if no document of the segment has any. */
export function* exactColumn(
  segment: Segment,
  indexField: string,
): Sliced<ColumnReader | undefined> {
  const field = segment.field(indexField + EXACT_SUFFIX)
  yield* field?.prepareTerms() ?? []
  return field?.column
}

/** The numbers of a document that has exact terms, as decimals where no double means them. */
export function exactKeys(column: ColumnReader, doc: number): readonly BucketKey[] {
  return Array.from({ length: column.count(doc) }, (_, i) =>
    exactKey(column.termOf(column.value(doc, i))),
  )
}

/** The number of an exact term, as a decimal where no double means it. */
export function exactKey(term: string): BucketKey {
  const decimal = decimalOfOrdered(term)
  return isBeyondDoubles(decimal) ? decimal : Number(decimal)
}

/** The lesser of two numbers, of which texts are decimals. */
export function lesserOf(a: BucketKey, b: BucketKey): BucketKey {
  return compareExactly(b, a) < 0 ? b : a
}

export function greaterOf(a: BucketKey, b: BucketKey): BucketKey {
  return compareExactly(b, a) > 0 ? b : a
}

/** The least and the greatest of the exact terms of some documents of one segment. */
export class ExactExtremes {
  readonly #column: ColumnReader
  #least = Infinity
  #greatest = -Infinity

  constructor(column: ColumnReader) {
    this.#column = column
  }

  /** Answers false for a document without exact terms, whose doubles are exact. */
  take(doc: number): boolean {
    const count = this.#column.count(doc)
    if (count === 0) return false
    this.#least = Math.min(this.#least, this.#column.value(doc, 0))
    this.#greatest = Math.max(this.#greatest, this.#column.value(doc, count - 1))
    return true
  }

  /** Undefined if no document had exact terms. */
  extremes(): { readonly min: BucketKey; readonly max: BucketKey } | undefined {
    if (this.#least > this.#greatest) return undefined
    return {
      min: exactKey(this.#column.termOf(this.#least)),
      max: exactKey(this.#column.termOf(this.#greatest)),
    }
  }
}
