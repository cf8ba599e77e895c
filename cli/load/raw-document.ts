/** One document cut out of the input, not parsed yet. */
export interface RawDocument {
  /** The line of the input at which the document begins, counted from 1. */
  readonly line: number
  readonly bytes: Buffer
  /** The reason why it cannot be a document; absent: its bytes are to be parsed as JSON. */
  readonly problem?: string
}

/** The service accepts no larger request, so larger documents cannot be loaded. */
export const DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
