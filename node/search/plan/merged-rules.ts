// What a query that merges lists may not ask for. Its pages are parts of one list, which the window of each
// index bounds; pages are cut from the same list only while the window stays the same.

import { QUERY_LIMIT_MAX, refuse } from '../../query/query-limits.ts'
import { ANALYSED_MAX } from '../../query/request/analyses-request.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'
import { RERANKED_MAX } from '../../query/request/reranker-request.ts'
import { checkThresholds, checkWeights, hasAutocut } from './list-thresholds.ts'
import type { MergedLists } from './query-lists.ts'

type Lists = Omit<MergedLists, 'windowSize'>
const SPARSE = 'bounds distances, and sparse vectors have inner products, which it cannot bound'

interface Rule {
  /** The member that the refusal names. */
  readonly member: string
  readonly isBroken: (request: QueryRequest, lists: Lists) => boolean
  readonly problem: string
}

const NO_MEANING = 'has no meaning where hits of several indexes, vectors or a reranker are merged'
const OTHER_CURSOR =
  'is the _sort of a hit of words alone, and merged hits have places of their own; begin again without a cursor'
const ONE_INDEX =
  'needs exactly one embeddings index, and no search for words beside it; merge_config.thresholds bounds each list'

/** The first one that is broken is told. */
const RULES: readonly Rule[] = [
  {
    member: 'count',
    isBroken: ({ countOnly }) => countOnly,
    problem: `${NO_MEANING}; leave it out`,
  },
  {
    member: 'search_after',
    isBroken: ({ page }) => page.kind === 'after',
    problem: OTHER_CURSOR,
  },
  {
    member: 'search_before',
    isBroken: ({ page }) => page.kind === 'before',
    problem: OTHER_CURSOR,
  },
  {
    member: 'merge_config.window_size',
    isBroken: ({ page, merge }) =>
      page.kind === 'merged' &&
      (merge?.windowSize ?? page.place.windowSize) !== page.place.windowSize,
    problem: 'is not that of the cursor: leave it out, or begin again without a cursor',
  },
  {
    member: 'order_by',
    isBroken: ({ order: [first, second] }) =>
      second !== undefined || first?.field !== '_score' || !first.isDescending,
    problem: `${NO_MEANING}; leave it out`,
  },
  {
    member: 'limit',
    isBroken: ({ page }) => page.limit === 0,
    problem: 'must be at least 1 where hits are merged',
  },
  {
    member: 'offset',
    isBroken: ({ page, merge }) =>
      page.kind === 'offset' &&
      page.offset > 0 &&
      page.offset + page.limit > (merge?.windowSize ?? 0),
    problem:
      'pages of merged hits are cut from one window: give every page the same ' +
      `merge_config.window_size, of at least offset and limit together and at most ${QUERY_LIMIT_MAX}`,
  },
  {
    member: 'distance_under',
    isBroken: ({ vectors }, lists) => vectors?.distanceUnder !== undefined && !isOneNearest(lists),
    problem: ONE_INDEX,
  },
  {
    member: 'distance_over',
    isBroken: ({ vectors }, lists) => vectors?.distanceOver !== undefined && !isOneNearest(lists),
    problem: ONE_INDEX,
  },
  {
    member: 'distance_under',
    isBroken: ({ vectors }, lists) => vectors?.distanceUnder !== undefined && isSparse(lists),
    problem: SPARSE,
  },
  {
    member: 'distance_over',
    isBroken: ({ vectors }, lists) => vectors?.distanceOver !== undefined && isSparse(lists),
    problem: SPARSE,
  },
  {
    member: 'merge_config.strategy',
    isBroken: (_, { config, texts, nearest }) =>
      config.strategy === 'failover' && (texts.length === 0 || nearest.length === 0),
    problem:
      'failover needs vectors, and words to fall back to: full_text_search, or a semantic_search of a table ' +
      'with a full_text index',
  },
  {
    member: 'pruner.require_multi_index',
    isBroken: ({ pruner }, { texts, nearest }) =>
      pruner?.isMultiIndex === true && texts.length + nearest.length < 2,
    problem: 'needs a second index in the query; leave it out',
  },
  {
    member: 'aggregate_over',
    isBroken: ({ aggregatesMatches }, { texts }) => aggregatesMatches && texts.length === 0,
    problem: 'matches are those of full_text_search, which is missing',
  },
  {
    member: 'reranker',
    isBroken: (request, lists) =>
      request.reranker !== undefined && windowSizeOf(request, lists) > RERANKED_MAX,
    problem: `scores at most ${RERANKED_MAX} hits; lower merge_config.window_size or limit`,
  },
  {
    member: 'reranker',
    isBroken: (request) => request.reranker !== undefined && rerankedTextOf(request) === undefined,
    problem:
      'needs a text to compare with: semantic_search, or full_text_search with a query or match',
  },
]

/** The window of each list. Throws INVALID_ARGUMENT with the name of a member. */
export function checkMerged(request: QueryRequest, lists: Lists): number {
  const broken = RULES.find(({ isBroken }) => isBroken(request, lists))
  if (broken !== undefined) refuse(broken.member, broken.problem)
  checkWeights(lists)
  checkThresholds(request, lists)
  return windowSizeOf(request, lists)
}

/** Pictures are drawn of the hits of any query. */
export function checkAnalyses({ analyses, page }: Pick<QueryRequest, 'analyses' | 'page'>): void {
  if (analyses === undefined || page.limit <= ANALYSED_MAX) return
  refuse('analyses', `draws at most ${ANALYSED_MAX} hits; lower the limit`)
}

/** Documents far behind the page count as well, because another list may know them better. */
const WINDOW_MIN = 50
const WINDOW_PER_HIT = 3

type Windowed = Pick<QueryRequest, 'merge' | 'page' | 'reranker'>

function windowSizeOf({ merge, page, reranker }: Windowed, lists: Lists): number {
  if (page.kind === 'merged') return page.place.windowSize
  if (merge?.windowSize !== undefined) return merge.windowSize
  // A reranker reads every document of the window, which takes longer than everything else.
  if (reranker !== undefined) return page.limit
  // A list that ends by itself has to have hits behind its end.
  if (mergedAtOnce(lists) < 2 && !hasAutocut(lists.config)) return page.limit
  return Math.min(QUERY_LIMIT_MAX, Math.max(WINDOW_MIN, WINDOW_PER_HIT * page.limit))
}

/** With failover, lists of words are not merged with those of vectors. */
function mergedAtOnce({ texts, nearest, config }: Lists): number {
  if (config.strategy === 'failover') return Math.max(texts.length, nearest.length)
  return texts.length + nearest.length
}

function isSparse({ nearest }: Lists): boolean {
  return nearest.some(({ index }) => index.sparse)
}

function isOneNearest({ texts, nearest }: Lists): boolean {
  return nearest.length === 1 && texts.length === 0
}

/** What a reranker compares documents with; undefined if the query has no text. */
export function rerankedTextOf({
  vectors,
  queryString,
  fullText,
}: Pick<QueryRequest, 'vectors' | 'queryString' | 'fullText'>): string | undefined {
  const sought = vectors?.sought
  if (sought?.kind === 'text') return sought.text
  if (queryString !== undefined) return queryString
  const hasText = fullText?.kind === 'match' || fullText?.kind === 'phrase'
  return hasText ? fullText.text : undefined
}
