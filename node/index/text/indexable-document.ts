// A document after mapping and analysis, as the engine indexes it.

import type { TermTable } from './encoding/term-table.ts'

/** One token of a text field. Positions ascend; a gap stands for a removed stop word. */
export interface IndexableToken {
  readonly term: string
  readonly position: number
}

/** The most tokens of a chunk: about a millisecond of work. */
export const TOKENS_PER_CHUNK = 4096

/** Some tokens that follow each other. */
export interface TokenChunk {
  readonly length: number
  /** The number of the term, and the position, of each token; the array may be longer. */
  readonly pairs: Uint32Array
}

/** The tokens of one field in order. Every chunk but the last has TOKENS_PER_CHUNK tokens. */
export interface TokenSequence {
  readonly length: number
  /** Which terms the numbers of the tokens are. */
  readonly terms: TermTable
  readonly chunks: readonly TokenChunk[]
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

/** One document for the index. A document with the same key replaces it. */
export interface IndexableDocument {
  /** The document's key, UTF-8. */
  readonly key: Uint8Array
  /** In ms since 1970; 0 means never. Expired documents do not match. */
  readonly expiresAtMs: number
  /** Names the document inside its shard; absent for documents without one. */
  readonly ordinal?: number | undefined
  readonly fields: readonly IndexableField[]
}
