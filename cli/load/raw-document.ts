/** One document as its format cut it out of the input, not yet looked into. */
export interface RawDocument {
  /** Of the input, counted from 1: where the document begins. */
  readonly line: number
  readonly bytes: Buffer
  /** Why it can be no document; undefined where its bytes are to be read as JSON. */
  readonly problem?: string
}

/** The service takes no larger request, so no larger document can be loaded. */
export const DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
