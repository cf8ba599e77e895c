// Documents and their rows, as searches and merges see them: a segment on disk or one in memory.

export type DocumentTest = (doc: number) => boolean

/**
 * Documents by number, each with at least one row. Contract:
 * - Of the documents with one key, or one ordinal, all but one at most are deleted.
 * - The rows of a document are consecutive. What a number names never changes; documents may be added.
 */
export interface DocumentRows {
  readonly docCount: number
  readonly rowCount: number
  /** No document expires earlier; Infinity if none ever does. */
  readonly firstExpiryMs: number
  keyOf(doc: number): Uint8Array
  ordinalOf(doc: number): number
  /** Milliseconds; 0 means never. */
  expiryOf(doc: number): number
  /** For `docCount` as well: the end of the last document. */
  firstRowOf(doc: number): number
  docOfRow(row: number): number
  startOf(row: number): number
  endOf(row: number): number
  /** The document with the key that is not deleted; -1 if there is none. */
  docOf(key: Uint8Array, isDeleted: DocumentTest): number
  /** The document with the ordinal that is not deleted; -1 if there is none. */
  docOfOrdinal(ordinal: number, isDeleted: DocumentTest): number
}

/** Whether a document has expired at a time. */
export function isExpired(rows: DocumentRows, doc: number, nowMs: number): boolean {
  const expiresAtMs = rows.expiryOf(doc)
  return expiresAtMs > 0 && expiresAtMs <= nowMs
}
