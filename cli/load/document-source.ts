// Where documents to load come from, and what becomes of one.

/** One document, ready to be sent: its bytes are passed through untouched. */
export interface SourceDocument {
  /** Counted from 1: a line of the file, or the place in the walk. */
  readonly line: number
  readonly key: string
  /** One JSON object. */
  readonly json: Buffer
}

/** What cannot be sent at all: its text is kept in the error report. */
export interface UnreadableDocument {
  readonly line: number
  readonly key: string | undefined
  readonly text: Buffer
  /** Whether `text` is one JSON value, so that the report can carry it as such. */
  readonly isJson: boolean
  readonly problem: string
}

export type SourceItem =
  | { readonly kind: 'document'; readonly document: SourceDocument }
  | { readonly kind: 'unreadable'; readonly unreadable: UnreadableDocument }

/** How far a source is, for the progress bar. */
export interface SourceProgress {
  readonly done: number
  /** Undefined when the end is not known, as for a pipe. */
  readonly total: number | undefined
}

/**
 * Contract:
 * - `items` walks the source once and reads no further ahead than the consumer asks, beyond one
 *   chunk of the file.
 * - `progress` may be asked at any time.
 * - `remarks` are what a person should know of what was read up to now.
 * - `reportPath` is the file that is read, if every document up to now was one of an error report.
 */
export interface DocumentSource {
  items(): AsyncIterable<SourceItem>
  progress(): SourceProgress
  readonly remarks: readonly string[]
  readonly reportPath: string | undefined
}
