import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { RowsTail, type RowsDocument } from '../../rows/rows-tail.ts'
import type { SparseVector } from '../../vector/vector-search.ts'
import { invertRows, type KeptRows } from './inverted-rows.ts'
import type { WeighedTerms } from './weighed-terms.ts'

/** A document with a sparse vector for each row: those that are kept, with weights above 0. */
export interface SparseDocument extends RowsDocument {
  readonly vectors: readonly SparseVector[]
}

/** The newest documents of an index of sparse vectors. */
export class SparseTail extends RowsTail<SparseDocument> implements KeptRows {
  walkTerms(): Sliced<WeighedTerms> {
    return invertRows(this)
  }

  vectorOf(row: number): SparseVector {
    const doc = this.docOfRow(row)
    return must(this.document(doc).vectors[row - this.firstRowOf(doc)], 'a row')
  }
}
