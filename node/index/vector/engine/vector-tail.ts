import type { DenseRows, VectorBlock } from '../segment/document-rows.ts'
import { RowsTail, type RowsDocument } from './rows-tail.ts'

/** A document with its dense vectors, one behind the other. */
export interface VectorDocument extends RowsDocument {
  readonly vectors: Float32Array
}

/** The newest documents of an index of dense vectors. */
export class VectorTail extends RowsTail<VectorDocument> implements DenseRows {
  readonly #dimension: number
  readonly isResident = true

  constructor(dimension: number) {
    super()
    this.#dimension = dimension
  }

  block(row: number, count: number): VectorBlock {
    const doc = this.docOfRow(row)
    const inDoc = row - this.firstRowOf(doc)
    const { vectors, starts } = this.document(doc)
    const rowCount = Math.min(count, starts.length - inDoc)
    return { vectors, at: inDoc * this.#dimension, rowCount }
  }
}
