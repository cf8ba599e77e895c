// What a coordinator asks of one shard's text index and what the index answers. Both travel between
// threads, so that everything here is plain data that a structured clone keeps.

import type { Aggregations } from '../../../query/aggregation-request.ts'
import type { SortKey, SortValue } from '../../../query/query-cursor.ts'
import type { HighlightRequest } from '../../../query/query-request.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { AggregationPartials } from '../aggregation/aggregation-partial.ts'
import type { TermStatistics } from '../matching/statistics.ts'
import type { PackedAnswer } from './packed-answer.ts'

/** Texts of documents in which the words that a query looks for are to be marked. */
export interface TextHighlightRequest {
  readonly query: Query
  readonly highlight: HighlightRequest
  /** JSON as it is stored. */
  readonly documents: readonly Uint8Array[]
}

/** By field, the best fragments with the words marked. */
export type Highlights = Readonly<Record<string, readonly string[]>>

/** What is looked for. Without any part, every document is a hit. */
export interface TextConditions {
  /** Scores. */
  readonly query: Query | undefined
  /** Must hold, without scoring. */
  readonly filter: Query | undefined
  /** Must not hold. */
  readonly exclusion: Query | undefined
  /** Only keys that begin with these bytes. */
  readonly keyPrefix: Uint8Array | undefined
}

/** A place in the order of hits; for `_id` the sort value is the key, one code unit a byte. */
export interface TextPosition {
  readonly values: readonly SortValue[]
  readonly key: Uint8Array
}

/** `before` answers the last hits in front of the position, in the order asked for. */
export type TextWindow =
  | { readonly kind: 'first'; readonly limit: number }
  | { readonly kind: 'after'; readonly position: TextPosition; readonly limit: number }
  | { readonly kind: 'before'; readonly position: TextPosition; readonly limit: number }

export interface TextSearchRequest {
  readonly conditions: TextConditions
  readonly order: readonly SortKey[]
  /** `limit` 0 asks for the total and the aggregations alone. */
  readonly window: TextWindow
  readonly aggregations: Aggregations
  /** Of the whole table; undefined where one shard is the whole table. */
  readonly statistics: TextStatistics | undefined
  /** Documents that have expired by then are not found. */
  readonly nowMs: number
}

export interface TextHit {
  readonly key: Uint8Array
  readonly score: number
  readonly sortValues: readonly SortValue[]
}

export interface TextSearchAnswer {
  /** In the order asked for. */
  readonly hits: readonly TextHit[]
  /** Exact, whatever the window. */
  readonly total: number
  /** The best score among the hits; 0 for none. */
  readonly maxScore: number
  readonly aggregations: AggregationPartials
  /** For the client: parts of the request that can find nothing, and why. */
  readonly warnings: readonly string[]
}

export interface TextStatisticsRequest {
  readonly conditions: TextConditions
}

export type TextStatistics = TermStatistics

/** What a text index is asked, and what it answers. */
export interface TextQuestions {
  /** Whoever asked unpacks the answer. */
  readonly search: { readonly request: TextSearchRequest; readonly answer: PackedAnswer }
  readonly statistics: { readonly request: TextStatisticsRequest; readonly answer: TextStatistics }
  readonly highlight: {
    readonly request: TextHighlightRequest
    readonly answer: readonly (Highlights | undefined)[]
  }
}

/** A question with its own request. */
export type TextAsked = {
  readonly [Kind in keyof TextQuestions]: {
    readonly question: Kind
    readonly request: TextQuestions[Kind]['request']
  }
}[keyof TextQuestions]
