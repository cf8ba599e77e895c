import type { AggregationResults } from '../../index/text/aggregation/aggregation-result.ts'

/** One query's answer, member by member as the contract has it; documents are text already. */
export interface QueryResult {
  readonly status: number
  /** Milliseconds. */
  readonly took: number
  /** Milliseconds by which the documents are old; present if any replica was allowed to answer. */
  readonly staleness?: number
  readonly table: string
  readonly hits: QueryHits
  readonly aggregations?: AggregationResults
  readonly profile?: QueryProfile
  /** If the query asks for them: what it may have meant. */
  readonly suggestions?: readonly QuerySuggestion[]
  /** Parts of the query that can find nothing, and why; counts that may be too low. */
  readonly warnings?: readonly string[]
  /** Which part of the answer is missing, because a shard could not serve. */
  readonly error?: string
}

/** A text of the query in which words look mistyped. */
export interface QuerySuggestion {
  readonly text: string
  /** The text with the first option of each word. */
  readonly corrected: string
  /** In the order of the text. */
  readonly words: readonly SuggestedWord[]
}

/** A word as it was typed. Its place in the text is counted in UTF-16 units. */
export interface SuggestedWord {
  readonly text: string
  readonly offset: number
  readonly length: number
  /** The best first. */
  readonly options: readonly SuggestedOption[]
}

/** A word of the table that may be meant. */
export interface SuggestedOption {
  readonly text: string
  /** How many documents of the table have the word. */
  readonly doc_freq: number
}

/** The page of hits with the counts of all hits. `max_score` is 0 when nothing was scored. */
export interface QueryHits {
  /** Exact over the shards that answered. */
  readonly total: number
  readonly max_score: number
  readonly hits: readonly QueryHit[]
}

/** One document of the page, named as in the HTTP contract. */
export interface QueryHit {
  readonly _id: string
  readonly _score: number
  /** Where the query scores. */
  readonly _index_scores?: { readonly full_text: number }
  /** JSON text: a stored document, or what a projection left of it. */
  readonly _source: Buffer
  /** For `search_after` and `search_before`. */
  readonly _sort: readonly string[]
  /** By field, the best fragments with the words that were found marked. */
  readonly _highlight?: Readonly<Record<string, readonly string[]>>
}

/** Where the time of a query went, for a request with `profile`. */
export interface QueryProfile {
  readonly shards: ShardCounts
  readonly phases: QueryPhases
}

/** Milliseconds by phase. */
export interface QueryPhases {
  readonly statistics: number
  readonly search: number
  readonly merge: number
  readonly fetch: number
  /** Present if the query asks for suggestions. */
  readonly suggest?: number
}

/**
 * The shards of the table: `failed` did not answer at some phase, `successful` answered every
 * phase.
 */
export interface ShardCounts {
  readonly total: number
  readonly successful: number
  readonly failed: number
}
