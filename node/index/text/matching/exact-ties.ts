// The order of documents whose doubles are equal, where some numbers have more digits (mapping/exact-numbers.ts).
// Rounding to doubles keeps the order, so a search compares doubles, and asks here about equal ones alone.

import { decimalOfOrdered, isBeyondDoubles, orderedTextOf } from '../../../document/decimal.ts'
import type { SortValue } from '../../../query/request/query-cursor.ts'
import { EXACT_SUFFIX } from '../mapping/field-names.ts'
import type { ColumnReader } from '../segment/column.ts'
import type { Segment } from '../segment/segment.ts'

/** Decides between documents of one segment with equal doubles, and tells their values with all digits. */
export class ExactTies {
  readonly #column: ColumnReader
  readonly #exact: ColumnReader | undefined
  readonly #isDescending: boolean
  /** What a page begins behind, as `#textOf` gives it for a document. */
  readonly #boundary: string

  private constructor(
    column: ColumnReader,
    exact: ColumnReader | undefined,
    options: { readonly isDescending: boolean; readonly boundary: SortValue },
  ) {
    this.#column = column
    this.#exact = exact
    this.#isDescending = options.isDescending
    this.#boundary = boundaryText(options.boundary)
  }

  /** Undefined if neither the segment nor the boundary has a number that no double means. */
  static of(
    segment: Segment,
    field: string,
    options: { readonly isDescending: boolean; readonly boundary: SortValue },
  ): ExactTies | undefined {
    const column = segment.field(field)?.column
    const exact = segment.field(field + EXACT_SUFFIX)?.column
    const isNeeded = exact !== undefined || typeof options.boundary === 'object'
    if (column?.kind !== 'number' || !isNeeded) return undefined
    return new ExactTies(column, exact, options)
  }

  /** Negative if document `a` comes first. Their doubles are equal. */
  compare(a: number, b: number): number {
    return this.#inOrder(this.#textOf(a), this.#textOf(b))
  }

  /** Negative if the document comes in front of the boundary. Their doubles are equal. */
  compareWithBoundary(doc: number): number {
    return this.#inOrder(this.#textOf(doc), this.#boundary)
  }

  /** The value by which the document is sorted. */
  valueOf(doc: number): SortValue {
    const text = this.#textOf(doc)
    if (text === '') return undefined
    const decimal = decimalOfOrdered(text)
    return isBeyondDoubles(decimal) ? { decimal } : Number(decimal)
  }

  #inOrder(a: string, b: string): number {
    if (a === b) return 0
    return a < b === this.#isDescending ? 1 : -1
  }

  /** The least or greatest number of the document as `orderedTextOf` writes it; empty for none. */
  #textOf(doc: number): string {
    const exactCount = this.#exact?.count(doc) ?? 0
    if (this.#exact !== undefined && exactCount > 0) {
      return this.#exact.termOf(this.#exact.value(doc, this.#isDescending ? exactCount - 1 : 0))
    }
    const count = this.#column.count(doc)
    if (count === 0) return ''
    return orderedTextOf(String(this.#column.value(doc, this.#isDescending ? count - 1 : 0)))
  }
}

function boundaryText(value: SortValue): string {
  if (value === undefined || typeof value === 'string') return ''
  return orderedTextOf(typeof value === 'number' ? String(value) : value.decimal)
}
