import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { DocumentRows, DocumentTest } from './document-rows.ts'
import type { RowTable } from './row-table.ts'

/** A sealed segment by its table, whatever its rows are. It is closed when every reader has let it go. */
export abstract class SealedRows implements DocumentRows {
  readonly id: number
  readonly docCount: number
  readonly rowCount: number
  readonly firstExpiryMs: number
  readonly #table: RowTable
  #holders = 1
  #onClosed: (() => void) | undefined

  constructor(id: number, table: RowTable) {
    this.id = id
    this.docCount = table.sizes.docCount
    this.rowCount = table.sizes.rowCount
    this.firstExpiryMs = table.firstExpiryMs
    this.#table = table
  }

  /** 0 for a segment in memory. */
  abstract readonly bytesOnDisk: number
  abstract readonly bytesInMemory: number
  /** Whether a graph leads to near rows, or what is as good. */
  abstract readonly isIndexed: boolean
  /** Whether near rows lie together in lists. */
  abstract readonly isListed: boolean
  /** Gives up what the rows hold besides the table. */
  protected abstract closeRows(): void
  /** Takes into memory what searches are faster with, if there is room for it now. It is not closed meanwhile. */
  abstract warm(): Sliced<void>

  get table(): RowTable {
    return this.#table
  }

  /** Adds a reader. */
  retain(): void {
    this.#holders += 1
  }

  /** Takes a reader away. */
  close(): void {
    this.#holders -= 1
    if (this.#holders > 0) return
    this.closeRows()
    this.#onClosed?.()
  }

  /** Takes the first reader away, and calls back when there is none left: at once, if there is no other. */
  closeThen(onClosed: () => void): void {
    this.#onClosed = onClosed
    this.close()
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
