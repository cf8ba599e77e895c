// What the store and its reader of documents say to each other. The bytes of a document follow a job on
// the reader's standard input.

/** One document to read. */
export type DocumentJob = {
  /** The bytes that follow. */
  readonly length: number
  readonly textLengthMax: number
} & (
  | { readonly kind: 'pdf'; readonly imageEdgePixelsMax: number }
  | { readonly kind: 'html'; readonly charset: string | undefined }
)

/** What was read. */
export type DocumentReading =
  | { readonly kind: 'text'; readonly text: string }
  /** The first page, because the document has no text. */
  | { readonly kind: 'page'; readonly png: Uint8Array }
  /** The part of a page that is for readers, as HTML. */
  | { readonly kind: 'article'; readonly title: string; readonly html: string }
  | { readonly kind: 'refused'; readonly why: string }
