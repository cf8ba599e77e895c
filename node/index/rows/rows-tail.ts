// The newest documents of an index, in memory, whatever their rows are: they are searched exactly, and then written
// as a segment.

import { must } from '../../../lib/assert.ts'
import type { DocumentRows, DocumentTest } from './document-rows.ts'
import { firstAtLeast } from './radix-sort.ts'

/** What a document takes besides its key and its rows: about, as its arrays and the map's entry. */
const DOCUMENT_BYTES = 320
const ROW_BYTES = 8

/** A document with at least one row, as the log brings it. */
export interface RowsDocument {
  readonly key: Uint8Array
  readonly ordinal: number
  readonly expiresAtMs: number
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  /** Bytes that its vectors take. */
  readonly vectorBytes: number
}

/** Documents are only added: one that replaces another has a number of its own. */
export class RowsTail<Document extends RowsDocument = RowsDocument> implements DocumentRows {
  readonly #documents: Document[] = []
  readonly #firstRows: number[] = [0]
  readonly #byKey = new Map<string, number>()
  readonly #byOrdinal = new Map<number, number>()
  bytesInMemory = 0
  firstExpiryMs = Infinity

  get docCount(): number {
    return this.#documents.length
  }

  get rowCount(): number {
    return this.#firstRows.at(-1) ?? 0
  }

  /** Its number. */
  add(document: Document): number {
    const doc = this.#documents.length
    this.#documents.push(document)
    this.#firstRows.push(this.rowCount + document.starts.length)
    this.#byKey.set(textOf(document.key), doc)
    this.#byOrdinal.set(document.ordinal, doc)
    const { expiresAtMs } = document
    if (expiresAtMs > 0) this.firstExpiryMs = Math.min(this.firstExpiryMs, expiresAtMs)
    const rows = document.starts.length * ROW_BYTES + document.vectorBytes
    this.bytesInMemory += DOCUMENT_BYTES + document.key.length * 2 + rows
    return doc
  }

  document(doc: number): Document {
    return must(this.#documents[doc], 'a document')
  }

  keyOf(doc: number): Uint8Array {
    return this.document(doc).key
  }

  ordinalOf(doc: number): number {
    return this.document(doc).ordinal
  }

  expiryOf(doc: number): number {
    return this.document(doc).expiresAtMs
  }

  firstRowOf(doc: number): number {
    return must(this.#firstRows[doc], 'a document')
  }

  docOfRow(row: number): number {
    return firstAtLeast(this.#firstRows, row + 1) - 1
  }

  startOf(row: number): number {
    return this.#ofRow(row, ({ starts }) => starts)
  }

  endOf(row: number): number {
    return this.#ofRow(row, ({ ends }) => ends)
  }

  docOf(key: Uint8Array, isDeleted: DocumentTest): number {
    const newest = this.#byKey.get(textOf(key))
    return newest === undefined || isDeleted(newest) ? -1 : newest
  }

  docOfOrdinal(ordinal: number, isDeleted: DocumentTest): number {
    const newest = this.#byOrdinal.get(ordinal)
    return newest === undefined || isDeleted(newest) ? -1 : newest
  }

  #ofRow(row: number, listOf: (document: Document) => readonly number[]): number {
    const doc = this.docOfRow(row)
    return must(listOf(this.document(doc))[row - this.firstRowOf(doc)], 'a row')
  }
}

/** Latin-1, so that each byte is a character. */
function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
}
