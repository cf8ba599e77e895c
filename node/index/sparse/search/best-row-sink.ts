import type { NearestDocuments } from '../../vector/search/nearest-documents.ts'
import type { DocumentRows } from '../../rows/document-rows.ts'
import type { RowSink } from './max-score.ts'

/** Offers the best row of each document of one part. Rows come ascending, so a document's come together. */
export class BestRowSink implements RowSink {
  readonly #found: NearestDocuments
  readonly #rows: DocumentRows
  readonly #passes: (doc: number) => boolean
  #doc = -1
  #row = 0
  #product = 0
  #acceptedDoc = -1
  #isAccepted = false

  constructor(found: NearestDocuments, rows: DocumentRows, passes: (doc: number) => boolean) {
    this.#found = found
    this.#rows = rows
    this.#passes = passes
  }

  get bar(): number {
    return -this.#found.bar
  }

  accepts(row: number): boolean {
    const doc = this.#rows.docOfRow(row)
    if (doc !== this.#acceptedDoc) {
      this.#acceptedDoc = doc
      this.#isAccepted = this.#passes(doc)
    }
    return this.#isAccepted
  }

  offer(row: number, product: number): void {
    const doc = this.#rows.docOfRow(row)
    if (doc !== this.#doc) this.end()
    else if (product <= this.#product) return
    this.#doc = doc
    this.#row = row
    this.#product = product
  }

  /** After the last row. */
  end(): void {
    if (this.#doc < 0) return
    const distance = -this.#product
    this.#found.offer({ rows: this.#rows, doc: this.#doc, row: this.#row, distance })
    this.#doc = -1
  }
}
