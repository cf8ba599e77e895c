import type { AggregationResults } from '../../index/text/aggregation/aggregation-result.ts'
import type { IndexRank } from '../../query/fusion/fuse-lists.ts'
import type { TextStatistics } from '../../index/text/search/text-search.ts'
import type { SortValue } from '../../query/request/query-cursor.ts'
import type { MatchedPart, QueryProfile } from '../run/query-result.ts'

/** One hit of a page, before its document is read. */
export interface PageHit {
  readonly key: Uint8Array
  readonly score: number
  /** Present for merged hits: the place of the hit in their list. */
  readonly cursor?: readonly string[]
  /** Present in the order of one full-text index. */
  readonly sortValues?: readonly SortValue[]
  /** Present for merged hits: what each index gave, by the name of its list. */
  readonly indexScores?: Readonly<Record<string, number>>
  /** Present for merged hits: how each index counted in the score, by the name of its list. */
  readonly indexRanks?: Readonly<Record<string, IndexRank>>
  /** The part of the document that a vector stands for. */
  readonly matched?: MatchedPart | undefined
}

/** What a query found, before documents are read. */
export interface FoundHits {
  readonly page: readonly PageHit[]
  /** What cursors of these hits carry of the scores; see cursor-scoring.ts. */
  readonly scoring?: string | undefined
  /** Present for words alone that score: what the scores depend on. */
  readonly statistics?: TextStatistics | undefined
  readonly total: number
  readonly maxScore: number
  /** Undefined if the query asks for none. */
  readonly aggregations: AggregationResults | undefined
  readonly warnings: readonly string[]
  readonly profile: Pick<QueryProfile, 'merge' | 'reranker'>
}
