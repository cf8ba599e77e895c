import type { ColumnReader } from '../segment/column.ts'
import { u32At } from './bulk-search.ts'

const CHUNK_DOCS = 512
/** Documents that are further apart on average are looked up one by one. */
const GAP_MAX = 8
const GAP_FIRST = 64
/** The weight of the newest gap in the moving average. */
const GAP_WEIGHT = 1 / 8

/** Reads the least or greatest value of documents, which callers name in ascending order. */
export class ColumnCursor {
  readonly #column: ColumnReader
  readonly #docCount: number
  readonly #takesLast: boolean
  #from = 0
  #to = 0
  #lastDoc = -1
  #averageGap = GAP_FIRST
  #values: Float64Array = new Float64Array(0)
  #ends: Uint32Array = new Uint32Array(0)

  constructor(column: ColumnReader, docCount: number, takesLast: boolean) {
    this.#column = column
    this.#docCount = docCount
    this.#takesLast = takesLast
  }

  /** The value of a document; NaN without one. Documents ascend. */
  valueOf(doc: number): number {
    this.#averageGap += (doc - this.#lastDoc - this.#averageGap) * GAP_WEIGHT
    this.#lastDoc = doc
    if (doc < this.#from || doc >= this.#to) {
      if (this.#averageGap > GAP_MAX) return this.#lookUp(doc)
      this.#read(doc)
    }
    const at = doc - this.#from
    const first = at === 0 ? 0 : u32At(this.#ends, at - 1)
    const end = u32At(this.#ends, at)
    if (first === end) return NaN
    return this.#values[this.#takesLast ? end - 1 : first] ?? NaN
  }

  #lookUp(doc: number): number {
    const count = this.#column.count(doc)
    return count === 0 ? NaN : this.#column.value(doc, this.#takesLast ? count - 1 : 0)
  }

  #read(doc: number): void {
    this.#from = doc
    this.#to = Math.min(doc + CHUNK_DOCS, this.#docCount)
    const { values, ends } = this.#column.read(this.#from, this.#to)
    this.#values = values
    this.#ends = ends
  }
}
