// What the engine indexes: a document after mapping and analysis.

/** One token of a text field. Positions ascend; a gap stands for a removed stop word. */
export interface IndexableToken {
  readonly term: string
  readonly position: number
}

/** The tokens of one field in order; a list of them is one. */
export interface TokenSequence {
  readonly length: number
  /** Those from `from` to `to`, not included. */
  slice(from: number, to: number): readonly IndexableToken[]
}

export type IndexableField =
  /** Scored by BM25; `length` is the number of tokens before deduplication of positions. */
  | {
      readonly kind: 'text'
      readonly name: string
      readonly tokens: TokenSequence
      readonly length: number
    }
  /** Whole values: exact terms and a column of ordinals for sorting and aggregation. */
  | { readonly kind: 'keyword'; readonly name: string; readonly values: readonly string[] }
  /** Numbers, and dates as milliseconds since 1970: ranges and a column. */
  | { readonly kind: 'number'; readonly name: string; readonly values: readonly number[] }
  | {
      readonly kind: 'point'
      readonly name: string
      readonly values: readonly { readonly lon: number; readonly lat: number }[]
    }

export interface IndexableDocument {
  /** The document's key, UTF-8. */
  readonly key: Uint8Array
  /** Milliseconds; 0 means never. Expired documents are not found. */
  readonly expiresAtMs: number
  /** Names the document inside its shard; absent for documents without one. */
  readonly ordinal?: number | undefined
  readonly fields: readonly IndexableField[]
}
