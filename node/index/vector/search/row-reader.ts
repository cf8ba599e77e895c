import type { Sliced } from '../../../../lib/sliced.ts'
import type { DenseRows } from '../segment/dense-rows.ts'

/** Reads rows in ascending order, several at once. */
export class RowReader {
  vectors: Float32Array = new Float32Array(0)
  readonly #rows: DenseRows
  readonly #dimension: number
  readonly #isDense: boolean
  #at = 0
  #from = 0
  #end = 0

  constructor(
    rows: DenseRows,
    { dimension, isDense }: { readonly dimension: number; readonly isDense: boolean },
  ) {
    this.#rows = rows
    this.#dimension = dimension
    this.#isDense = isDense
  }

  /** The rows up to here lie in `vectors`. */
  get end(): number {
    return this.#end
  }

  /** Where the row begins in `vectors`. The rows up to `end` are wanted next. */
  seek(row: number, end: number): number {
    if (row >= this.#end || row < this.#from) {
      const count = (this.#isDense ? this.#rows.rowCount : end) - row
      const { vectors, at, rowCount } = this.#rows.block(row, count)
      this.vectors = vectors
      this.#at = at
      this.#from = row
      this.#end = row + rowCount
    }
    return this.#at + (row - this.#from) * this.#dimension
  }

  /** Others may read into the same memory meanwhile. */
  *pause(): Sliced<void> {
    this.#end = 0
    yield
  }
}
