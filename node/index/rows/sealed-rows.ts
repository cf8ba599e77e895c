import { must } from '../../../lib/assert.ts'
import { HeldSegment } from '../segments/held-segment.ts'
import type { DocumentRows, DocumentTest } from './document-rows.ts'
import type { RowTable } from './row-table.ts'

/** A sealed segment by its table, whatever its rows are. */
export abstract class SealedRows extends HeldSegment implements DocumentRows {
  readonly docCount: number
  readonly rowCount: number
  readonly firstExpiryMs: number
  readonly #table: RowTable

  constructor(table: RowTable) {
    super()
    this.docCount = table.sizes.docCount
    this.rowCount = table.sizes.rowCount
    this.firstExpiryMs = table.firstExpiryMs
    this.#table = table
  }

  /** Whether a graph leads to near rows, or what is as good. */
  abstract readonly isIndexed: boolean
  /** Whether near rows lie together in lists. */
  abstract readonly isListed: boolean

  get table(): RowTable {
    return this.#table
  }

  keyOf(doc: number): Uint8Array {
    return this.#table.keyOf(doc)
  }

  ordinalOf(doc: number): number {
    return must(this.#table.sections.ordinals[doc], 'a document')
  }

  expiryOf(doc: number): number {
    return must(this.#table.sections.expiries[doc], 'a document')
  }

  firstRowOf(doc: number): number {
    return must(this.#table.sections.firstRows[doc], 'a document')
  }

  docOfRow(row: number): number {
    return this.#table.docOfRow(row)
  }

  startOf(row: number): number {
    return must(this.#table.sections.starts[row], 'a row')
  }

  endOf(row: number): number {
    return must(this.#table.sections.ends[row], 'a row')
  }

  docOf(key: Uint8Array, isDeleted: DocumentTest): number {
    return this.#table.docOf(key, isDeleted)
  }

  docOfOrdinal(ordinal: number, isDeleted: DocumentTest): number {
    return this.#table.docOfOrdinal(ordinal, isDeleted)
  }
}
