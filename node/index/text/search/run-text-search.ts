// Answers a coordinator's request from one shard's text index. Runs in the index worker.

import { ServiceError } from '../../../../lib/errors.ts'
import type { SortKey, SortValue } from '../../../query/query-cursor.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { AggregationPartials } from '../aggregation/aggregation-partial.ts'
import type { DocSet } from '../aggregation/doc-set.ts'
import { gatherAggregations } from '../aggregation/gather-aggregations.ts'
import type { EngineQuery } from '../engine-query.ts'
import { Poll, type Interrupt } from '../engine/poll.ts'
import type { SearchBoundary } from '../matching/search.ts'
import type { MatchRequest } from '../matching/segment-search.ts'
import type { SortField } from '../matching/sorted-hits.ts'
import { scoringTerms } from '../matching/statistics.ts'
import type { TextIndex } from '../engine/text-index.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import { QueryContext } from '../mapping/query-context.ts'
import { resolveQuery } from '../mapping/resolve-query.ts'
import type { Segment } from '../segment/segment.ts'
import { expandPhrases } from './expand-phrases.ts'
import { FieldColumns } from './field-columns.ts'
import type {
  TextConditions,
  TextHit,
  TextPosition,
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from './text-search.ts'

export interface MappedIndex {
  readonly index: TextIndex
  readonly mapping: FieldMapping
}

const EVERYTHING: EngineQuery = { kind: 'all', boost: 1 }
const BEST_FIRST: readonly SortField[] = [{ by: 'score', descending: true }]

/**
 * `interrupt` is called every few thousand documents and throws to stop the search. Throws
 * INVALID_ARGUMENT for what the fields of the index cannot answer.
 */
export function runTextSearch(
  { index, mapping }: MappedIndex,
  request: TextSearchRequest,
  interrupt: Interrupt,
): TextSearchAnswer {
  const run = new TextSearchRun(index, mapping, { request, interrupt })
  return run.answer()
}

/** What the scores of the request depend on in this shard. */
export function gatherTextStatistics(
  { index, mapping }: MappedIndex,
  { conditions }: TextStatisticsRequest,
): TextStatistics {
  const { query } = conditions
  if (query === undefined) return index.termStatistics([])
  const resolved = expandPhrases(resolveQuery(query, mapping).query, index, () => undefined)
  return index.termStatistics(scoringTerms(resolved))
}

class TextSearchRun {
  readonly #index: TextIndex
  readonly #mapping: FieldMapping
  readonly #request: TextSearchRequest
  readonly #interrupt: Interrupt
  readonly #warnings = new Set<string>()
  readonly #context: QueryContext
  readonly #columns: FieldColumns

  constructor(
    index: TextIndex,
    mapping: FieldMapping,
    { request, interrupt }: { request: TextSearchRequest; interrupt: Interrupt },
  ) {
    this.#index = index
    this.#mapping = mapping
    this.#request = request
    this.#interrupt = interrupt
    this.#context = new QueryContext(mapping)
    this.#columns = new FieldColumns(this.#context)
  }

  answer(): TextSearchAnswer {
    const match = this.#match(this.#request.conditions)
    const { hits, total } = this.#search(match)
    const aggregations = this.#aggregate(match)
    return {
      hits: hits.map(({ key, score, sortValues }) => ({ key, score, sortValues })),
      total,
      maxScore: hits.reduce((most, { score }) => Math.max(most, score), 0),
      aggregations,
      warnings: [...new Set([...this.#warnings, ...this.#context.warnings])],
    }
  }

  #match(conditions: TextConditions): MatchRequest {
    const { query } = conditions
    const filter = this.#filterOf(conditions)
    const base = { nowMs: this.#request.nowMs, interrupt: this.#interrupt }
    const body = query === undefined ? EVERYTHING : this.#resolve(query)
    return { ...base, query: body, ...(filter === undefined ? {} : { filter }) }
  }

  #filterOf({ filter, exclusion, keyPrefix }: TextConditions): EngineQuery | undefined {
    const filters = filter === undefined ? [] : [this.#resolve(filter)]
    if (keyPrefix !== undefined) filters.push({ kind: 'key-prefix', prefix: keyPrefix, boost: 1 })
    const mustNot = exclusion === undefined ? [] : [this.#resolve(exclusion)]
    if (filters.length === 0 && mustNot.length === 0) return undefined
    const must = filters.length === 0 ? [EVERYTHING] : filters
    return { kind: 'boolean', must, should: [], minShould: 0, mustNot, filter: [], boost: 1 }
  }

  #resolve(query: Query): EngineQuery {
    const resolved = resolveQuery(query, this.#mapping)
    for (const warning of resolved.warnings) this.#warnings.add(warning)
    return expandPhrases(resolved.query, this.#index, this.#interrupt)
  }

  #search(match: MatchRequest): { readonly hits: readonly TextHit[]; readonly total: number } {
    const { order, window, statistics } = this.#request
    const sort = this.#sortOf(order)
    const base = {
      ...match,
      countTotal: true,
      ...(sort === undefined ? {} : { sort }),
      ...(statistics === undefined ? {} : { statistics }),
    }
    if (window.kind === 'first') return this.#index.search({ ...base, limit: window.limit })
    const { position, limit } = window
    const after = boundaryOf(order, position)
    if (window.kind === 'after') return this.#index.search({ ...base, limit, after })
    const backwards = { ...base, sort: sort ?? BEST_FIRST, isBackwards: true }
    const { hits, total } = this.#index.search({ ...backwards, limit, after })
    return { hits: hits.toReversed(), total }
  }

  /** Undefined for the best scores first, which the engine finds without looking at every match. */
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

  #aggregate(match: MatchRequest): AggregationPartials {
    const { aggregations, statistics, nowMs } = this.#request
    if (aggregations.size === 0) return new Map()
    const source = {
      columns: this.#columns,
      poll: new Poll(this.#interrupt),
      nowMs,
      isWhole: statistics === undefined,
      find: (query: Query | undefined) => {
        const background = query === undefined ? EVERYTHING : this.#resolve(query)
        return this.#collect({ nowMs, interrupt: this.#interrupt, query: background })
      },
    }
    return gatherAggregations(source, aggregations, this.#collect(match))
  }

  #collect(match: MatchRequest): DocSet {
    const chunksOf = new Map<Segment, Uint32Array[]>()
    this.#index.collect(match, ({ segment }, docs) => {
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
    'the cursor holds no score for _score: hand back the _sort of a hit',
  )
}
