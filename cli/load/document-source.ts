// The sources of documents to load.

/** One document to send. Its bytes are sent unchanged. */
export interface SourceDocument {
  /** The line of the file, or the place in the walk, counted from 1. */
  readonly line: number
  readonly key: string
  /** The text of one JSON object. */
  readonly json: Buffer
}

/** An input that cannot be sent. The error report keeps its text. */
export interface UnreadableDocument {
  readonly line: number
  readonly key: string | undefined
  readonly text: Buffer
  /** Whether `text` is one JSON value, which the report then holds as JSON. */
  readonly isJson: boolean
  /** The reason, as a sentence for the user. */
  readonly problem: string
}

/** One item of a source. */
export type SourceItem =
  | { readonly kind: 'document'; readonly document: SourceDocument }
  | { readonly kind: 'unreadable'; readonly unreadable: UnreadableDocument }

/** The progress of a source in a unit of its own, for the progress bar. */
export interface SourceProgress {
  readonly done: number
  /** Undefined when the size is not known, for example for a pipe. */
  readonly total: number | undefined
}

/**
 * Documents to load.
 *
 * Contract:
 * - `items` walks the source once. It reads at most one chunk ahead of its consumer.
 * - `progress` may be called at any time.
 * - `remarks` are sentences for the user about the items so far.
 * - `reportPath` is the path of the source if every item so far came from an error report; undefined
 *   otherwise.
 */
export interface DocumentSource {
  items(): AsyncIterable<SourceItem>
  progress(): SourceProgress
  readonly remarks: readonly string[]
  readonly reportPath: string | undefined
}
