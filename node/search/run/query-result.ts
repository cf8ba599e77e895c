import type { AggregationResults } from '../../index/text/aggregation/aggregation-result.ts'
import type { IndexRank } from '../../query/fusion/fuse-lists.ts'

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
  /** By index: the returned vectors in the plane. */
  readonly analyses?: Readonly<Record<string, QueryAnalysis>>
  readonly profile?: QueryProfile
  /** If the query asks for them: what it may have meant. */
  readonly suggestions?: readonly QuerySuggestion[]
  /** Parts of the query that can find nothing, and why; counts that may be too low. */
  readonly warnings?: readonly string[]
  /** By index, how many committed documents the answer may lack; absent if it lacks none. */
  readonly documents_behind?: Readonly<Record<string, number>>
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
  /** Exact over the shards that answered; of a search for vectors alone, the candidates. */
  readonly total: number
  readonly max_score: number
  readonly hits: readonly QueryHit[]
}

/** One document of the page, named as in the HTTP contract. */
export interface QueryHit {
  readonly _id: string
  readonly _score: number
  /** Where the query scores: by index, its score, or the distance of a vector. */
  readonly _index_scores?: Readonly<Record<string, number>>
  /** For merged hits: by index, how it counted in the score that merging gave. */
  readonly _index_ranks?: Readonly<Record<string, IndexRank>>
  /** The part of the document that an index of vectors found. */
  readonly _matched?: MatchedPart
  /** JSON text: a stored document, or what a projection left of it. */
  readonly _source: Buffer
  /** For `search_after` and `search_before`; empty where these have no meaning. */
  readonly _sort: readonly string[]
  /** By field, the best fragments with the words that were found marked. */
  readonly _highlight?: Readonly<Record<string, readonly string[]>>
}

/** A part of the embedded text of a document: its number and its place, in UTF-16 units. */
export interface MatchedPart {
  readonly index: string
  readonly chunk: number
  readonly start: number
  readonly end: number
  /** Where the index keeps the texts of its parts. */
  readonly text?: string
}

/** The hits with a vector, in their order, with x and y of each, one after the other. */
export interface QueryAnalysis {
  readonly ids: readonly string[]
  readonly pca?: readonly number[]
  readonly tsne?: readonly number[]
}

/** How many hits of which kind were merged. */
export interface MergeProfile {
  readonly strategy: string
  readonly full_text_hits: number
  readonly semantic_hits: number
  readonly duration_ms: number
}

/** How many hits a reranker has read. */
export interface RerankerProfile {
  readonly model: string
  readonly documents_reranked: number
  readonly duration_ms: number
}

/** Where the time of a query went, for a request with `profile`. */
export interface QueryProfile {
  /** Present if hits were merged. */
  readonly merge?: MergeProfile
  /** Present if hits were scored anew. */
  readonly reranker?: RerankerProfile
  readonly shards: ShardCounts
  readonly phases: QueryPhases
}

/** Milliseconds by phase. */
export interface QueryPhases {
  readonly statistics: number
  readonly search: number
  readonly merge: number
  readonly fetch: number
  /** Present if texts were embedded, or stored vectors read. */
  readonly embed?: number
  /** Present if a filter was made for vectors. */
  readonly select?: number
  /** Present if vectors were searched. */
  readonly nearest?: number
  /** Present if hits were scored anew. */
  readonly rerank?: number
  /** Present if merged hits were counted. */
  readonly aggregate?: number
  /** Present if vectors were drawn. */
  readonly analyse?: number
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
