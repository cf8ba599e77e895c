// Answers a coordinator's request from one shard's text index. It runs in the index worker.

import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { SortKey, SortValue } from '../../../query/request/query-cursor.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { AggregationPartials } from '../aggregation/aggregation-partial.ts'
import type { DocSet } from '../aggregation/doc-set.ts'
import { gatherAggregations } from '../aggregation/gather-aggregations.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { SearchSnapshot } from '../engine/search-snapshot.ts'
import { Poll } from '../poll.ts'
import type { SearchBoundary } from '../matching/search.ts'
import type { MatchRequest } from '../matching/segment-search.ts'
import type { SortField } from '../matching/sorted-hits.ts'
import type { TextIndex } from '../engine/text-index.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import { QueryContext } from '../mapping/query-context.ts'
import { resolveQuery } from '../mapping/resolve-query.ts'
import type { Segment } from '../segment/segment.ts'
import { ConditionResolver } from './condition-resolver.ts'
import { expandPhrases } from './expand-phrases.ts'
import { FieldColumns } from '../mapping/field-columns.ts'
import type {
  TextHit,
  TextPosition,
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from './text-search.ts'

/** An index, and the mapping that its documents were indexed with. */
export interface MappedIndex {
  readonly index: TextIndex
  readonly mapping: FieldMapping
}

const NO_AGGREGATIONS: AggregationPartials = new Map()
const EVERYTHING: EngineQuery = { kind: 'all', boost: 1 }
const BEST_FIRST: readonly SortField[] = [{ by: 'score', descending: true }]

/**
 * Searches the state that the index has at the first step. Throws INVALID_ARGUMENT for conditions
 * that the fields of the index cannot answer.
 */
export function* runTextSearch(
  { index, mapping }: MappedIndex,
  request: TextSearchRequest,
): Sliced<TextSearchAnswer> {
  const snapshot = index.snapshot()
  try {
    return yield* searchSnapshot(snapshot, mapping, request)
  } finally {
    snapshot.release()
  }
}

/** As `runTextSearch`, of a state that the caller holds and releases. */
export function searchSnapshot(
  snapshot: SearchSnapshot,
  mapping: FieldMapping,
  request: TextSearchRequest,
): Sliced<TextSearchAnswer> {
  return new TextSearchRun(snapshot, mapping, request).answer()
}

/** Gathers the statistics of this shard that the scores of the request depend on. */
export function* gatherTextStatistics(
  { index, mapping }: MappedIndex,
  { conditions }: TextStatisticsRequest,
): Sliced<TextStatistics> {
  const { query } = conditions
  const snapshot = index.snapshot()
  try {
    if (query === undefined) return yield* snapshot.queryStatistics(EVERYTHING)
    const resolved = yield* resolveQuery(query, mapping)
    const expanded = yield* expandPhrases(resolved.query, snapshot)
    return yield* snapshot.queryStatistics(expanded)
  } finally {
    snapshot.release()
  }
}

/** The caller has those that it gave. Cursors into an order by scores need those of a whole table. */
export function tellsStatistics(request: TextSearchRequest): boolean {
  const { conditions, order, statistics, window } = request
  const isByScore = order.length === 0 || order.some(({ field }) => field === '_score')
  return statistics === undefined && conditions.query !== undefined && isByScore && window.limit > 0
}

/** What a search finds of a page. */
interface FoundPage {
  readonly hits: readonly TextHit[]
  readonly total: number
  readonly statistics: TextStatistics
}

class TextSearchRun {
  readonly #index: SearchSnapshot
  readonly #request: TextSearchRequest
  readonly #resolver: ConditionResolver
  readonly #context: QueryContext
  readonly #columns: FieldColumns

  constructor(index: SearchSnapshot, mapping: FieldMapping, request: TextSearchRequest) {
    this.#index = index
    this.#request = request
    this.#resolver = new ConditionResolver(index, mapping)
    this.#context = new QueryContext(mapping)
    this.#columns = new FieldColumns(this.#context)
  }

  *answer(): Sliced<TextSearchAnswer> {
    const match = yield* this.#resolver.match(this.#request.conditions, this.#request.nowMs)
    const { hits, total, statistics } = yield* this.#search(match)
    const isAggregated = this.#request.aggregations.size > 0
    const aggregations = isAggregated ? yield* this.#aggregate(match) : NO_AGGREGATIONS
    return {
      hits: hits.map(({ key, score, sortValues }) => ({ key, score, sortValues })),
      total,
      maxScore: hits.reduce((most, { score }) => Math.max(most, score), 0),
      aggregations,
      warnings: [...new Set([...this.#resolver.warnings, ...this.#context.warnings])],
      ...(tellsStatistics(this.#request) && { statistics }),
    }
  }

  *#search(match: MatchRequest): Sliced<FoundPage> {
    const { order, window, statistics, bound } = this.#request
    const sort = this.#sortOf(order)
    const base = {
      ...match,
      countTotal: true,
      ...(sort === undefined ? {} : { sort }),
      ...(statistics === undefined ? {} : { statistics }),
      ...(bound === undefined ? {} : { bound }),
    }
    if (window.kind === 'first') {
      return yield* this.#index.search({ ...base, limit: window.limit })
    }
    const { position, limit } = window
    const after = boundaryOf(order, position)
    if (window.kind === 'after') return yield* this.#index.search({ ...base, limit, after })
    const backwards = { ...base, sort: sort ?? BEST_FIRST, isBackwards: true }
    const found = yield* this.#index.search({ ...backwards, limit, after })
    return { ...found, hits: found.hits.toReversed() }
  }

  /** Undefined for the best scores first, which the engine finds without visiting every match. */
  #sortOf(order: readonly SortKey[]): readonly SortField[] | undefined {
    const [first, ...others] = order
    const isByScore = first === undefined || (first.field === '_score' && first.isDescending)
    if (isByScore && others.length === 0) return undefined
    return order.map(({ field, isDescending: descending }): SortField => {
      if (field === '_score') return { by: 'score', descending }
      if (field === '_id') return { by: 'key', descending }
      const wish = { purpose: 'sorted by', needs: 'points have no order' } as const
      const column = this.#columns.of(field, { ...wish, kinds: ['keyword', 'number'] })
      return { by: 'column', field: column?.indexField ?? field, descending }
    })
  }

  *#aggregate(match: MatchRequest): Sliced<AggregationPartials> {
    const { aggregations, statistics, nowMs } = this.#request
    const source = {
      columns: this.#columns,
      poll: new Poll(),
      nowMs,
      isWhole: statistics === undefined,
      find: (query: Query | undefined) => this.#background(query),
    }
    return yield* gatherAggregations(source, aggregations, yield* this.#collect(match))
  }

  *#background(query: Query | undefined): Sliced<DocSet> {
    const { nowMs } = this.#request
    return yield* this.#collect({ nowMs, query: yield* this.#resolver.resolve(query) })
  }

  *#collect(match: MatchRequest): Sliced<DocSet> {
    const chunksOf = new Map<Segment, Uint32Array[]>()
    yield* this.#index.collect(match, ({ segment }, docs) => {
      const chunks = chunksOf.get(segment) ?? []
      chunksOf.set(segment, chunks)
      chunks.push(docs.slice())
    })
    return [...chunksOf].map(([segment, chunks]) => ({ segment, docs: joined(chunks) }))
  }
}

function joined(chunks: readonly Uint32Array[]): Uint32Array {
  const docs = new Uint32Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    docs.set(chunk, at)
    at += chunk.length
  }
  return docs
}

function boundaryOf(order: readonly SortKey[], { values, key }: TextPosition): SearchBoundary {
  const at = order.findIndex(({ field }) => field === '_score')
  const score: SortValue = at < 0 ? 0 : values[at]
  if (typeof score === 'number') return { score, sortValues: values, key }
  throw new ServiceError(
    'INVALID_ARGUMENT',
    'the cursor has no score for _score; send the _sort of a hit',
  )
}
