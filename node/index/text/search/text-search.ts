// The requests of a coordinator to one shard's text index, and the answers. They travel between
// threads, so everything here is plain data that a structured clone keeps.

import type { Aggregations } from '../../../query/request/aggregation-request.ts'
import type { SortKey, SortValue } from '../../../query/request/query-cursor.ts'
import type { HighlightRequest } from '../../../query/request/query-request.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { AggregationPartials } from '../aggregation/aggregation-partial.ts'
import type { TermStatistics } from '../matching/statistics.ts'

/** Documents in which the matches of a query are to be highlighted. */
export interface TextHighlightRequest {
  readonly query: Query
  readonly highlight: HighlightRequest
  /** JSON, as it is stored. */
  readonly documents: readonly Uint8Array[]
}

/** The best fragments with marks, by field. */
export type Highlights = Readonly<Record<string, readonly string[]>>

/** The conditions of a search. Without any of them, every document matches. */
export interface TextConditions {
  /** Selects and scores. */
  readonly query: Query | undefined
  /** Selects without scoring. */
  readonly filter: Query | undefined
  /** Excludes the documents that match. */
  readonly exclusion: Query | undefined
  /** Selects the keys that begin with these bytes. */
  readonly keyPrefix: Uint8Array | undefined
}

export const NO_CONDITIONS: TextConditions = {
  query: undefined,
  filter: undefined,
  exclusion: undefined,
  keyPrefix: undefined,
}

/**
 * A position in the order of hits. The sort value of `_id` is the key, with one code unit for each
 * byte.
 */
export interface TextPosition {
  readonly values: readonly SortValue[]
  readonly key: Uint8Array
}

/** `before` answers the last hits in front of the position, in the requested order. */
export type TextWindow =
  | { readonly kind: 'first'; readonly limit: number }
  | { readonly kind: 'after'; readonly position: TextPosition; readonly limit: number }
  | { readonly kind: 'before'; readonly position: TextPosition; readonly limit: number }

/** A search of one shard. */
export interface TextSearchRequest {
  readonly conditions: TextConditions
  readonly order: readonly SortKey[]
  /** `limit` 0 requests only the total and the aggregations. */
  readonly window: TextWindow
  readonly aggregations: Aggregations
  /** The statistics of the whole table; undefined if this shard is the whole table. */
  readonly statistics: TextStatistics | undefined
  /** The time of the query. Documents that have expired by then do not match. */
  readonly nowMs: number
  /** A hit of another shard. What comes behind it is counted and need not be told. */
  readonly bound?: TextHit | undefined
}

/** One hit of a shard. */
export interface TextHit {
  readonly key: Uint8Array
  readonly score: number
  readonly sortValues: readonly SortValue[]
}

/** The answer of one shard. */
export interface TextSearchAnswer {
  /** In the requested order. */
  readonly hits: readonly TextHit[]
  /** Exact, whatever the window. */
  readonly total: number
  /** The best score among the hits; 0 without hits. */
  readonly maxScore: number
  readonly aggregations: AggregationPartials
  /** For the client: the parts of the request that can match nothing, with the reason. */
  readonly warnings: readonly string[]
  /** What scores depend on; undefined if they had no say in the answer. */
  readonly statistics?: TextStatistics | undefined
}

/** A request for the statistics that the scores of a query depend on. */
export interface TextStatisticsRequest {
  readonly conditions: TextConditions
}

export type TextStatistics = TermStatistics
