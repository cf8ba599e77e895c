// Answers a query over all shards of a table.
//
//   statistics ──► search ──► merge ──► fetch
//   of all shards, in every shard          the documents of the window,
//   for the scores                         with projection and highlights
//
// A document deleted or expired between search and fetch is left out of the hits.

import type { Clock } from '../../../lib/clock.ts'
import type { HeldMemory } from '../../../lib/http/request-memory.ts'
import { runInTurn, runSliced, type Sliced } from '../../../lib/sliced.ts'
import {
  aggregationResultsSliced,
  cutAggregations,
} from '../../index/text/aggregation/aggregation-result.ts'
import { mergePartialsSliced } from '../../index/text/aggregation/merge-partials.ts'
import type { IndexAnswer, IndexRequest, QuestionOf } from '../../index/kinds/index-questions.ts'
import { compareHits } from '../../index/text/search/hit-order.ts'
import { mergeHits, mergeLastHits } from '../../index/text/search/merge-hits.ts'
import { unpackAnswer } from '../../index/text/search/packed-answer.ts'
import type {
  TextConditions,
  TextHit,
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextWindow,
} from '../../index/text/search/text-search.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { Shard } from '../../shard/shard.ts'
import { buildMarkDocuments } from './page-highlights.ts'
import type { EventLoopTurns } from './event-loop-turns.ts'
import { mergeStatistics } from './merge-statistics.ts'
import { fetchPage } from './page-fetch.ts'
import { portableAggregations, portableQuery } from './portable-query.ts'
import { pruneHits } from './prune-hits.ts'
import { QueryDeadline } from './query-deadline.ts'
import type {
  QueryHit,
  QueryPhases,
  QueryProfile,
  QueryResult,
  QuerySuggestion,
} from './query-result.ts'
import { ShardFanOut } from './shard-fan-out.ts'
import { suggestFor } from './suggestions.ts'

/** The methods of a shard that a query calls. */
export type QueriedShard = Pick<Shard, 'read' | 'search'>

/** A table as a query sees it. Its shards are in key order and cover every key once. */
export interface QueriedTable {
  readonly name: string
  readonly schema: TableSchema | undefined
  /** The name of its full-text index. */
  readonly textIndex: string
  readonly shards: readonly QueriedShard[]
  shardOf(key: Buffer): QueriedShard
  /**
   * How often a shard's questions have gone to another replica than the ones before. Absent: each shard answers
   * from one index.
   */
  readonly moves?: () => number
}

/** The parts that all queries of a node share. */
export interface QueryParts {
  readonly clock: Clock
  readonly turns: EventLoopTurns
}

/** One query, with the signal of the client that waits for it. */
export interface AskedQuery {
  readonly request: QueryRequest
  readonly signal: AbortSignal
  /** Charged with the documents of the answer; undefined: they are counted for nobody. */
  readonly memory?: HeldMemory | undefined
}

/**
 * Refused: INVALID_ARGUMENT, DEADLINE_EXCEEDED, CANCELLED, OVERLOADED, or the error of a shard if all
 * fail.
 */
export async function queryTable(
  parts: QueryParts,
  table: QueriedTable,
  { request, signal, memory }: AskedQuery,
): Promise<QueryResult> {
  using deadline = new QueryDeadline(parts.clock, request.timeoutMs, signal)
  try {
    return await new TableQuery(parts, table, { request, deadline, memory }).run()
  } catch (error) {
    throw deadline.explain(error)
  }
}

interface DatedQuery extends Pick<AskedQuery, 'request' | 'memory'> {
  readonly deadline: QueryDeadline
}

class TableQuery {
  readonly #clock: Clock
  readonly #turns: EventLoopTurns
  readonly #table: QueriedTable
  readonly #request: QueryRequest
  readonly #deadline: QueryDeadline
  readonly #fanOut: ShardFanOut<QueriedShard>
  readonly #memory: HeldMemory | undefined
  readonly #nowMs: number
  readonly #phases: { -readonly [Phase in keyof QueryPhases]: QueryPhases[Phase] } = {
    statistics: 0,
    search: 0,
    merge: 0,
    fetch: 0,
  }

  constructor(
    { clock, turns }: QueryParts,
    table: QueriedTable,
    { request, deadline, memory }: DatedQuery,
  ) {
    this.#memory = memory
    this.#clock = clock
    this.#turns = turns
    this.#table = table
    this.#request = request
    this.#deadline = deadline
    this.#fanOut = new ShardFanOut(table.shards, deadline.signal)
    this.#nowMs = clock.nowMs()
  }

  async run(): Promise<QueryResult> {
    const startMs = this.#clock.monotonicMs()
    const answers = await this.#searched(this.#conditions())
    await this.#turns.take()
    const { page, rest } = await this.#timed('merge', () => this.#merge(answers))
    const hits = await this.#timed('fetch', () => this.#fetch(page))
    const suggestions = this.#request.suggest
      ? await this.#timed('suggest', () => this.#suggestions())
      : undefined
    const { failures } = this.#fanOut
    return {
      status: 200,
      took: Math.round(this.#clock.monotonicMs() - startMs),
      table: this.#table.name,
      hits: { ...rest.counts, hits },
      ...(rest.aggregations === undefined ? {} : { aggregations: rest.aggregations }),
      ...(this.#request.profile ? { profile: this.#profile() } : {}),
      ...(suggestions === undefined ? {} : { suggestions }),
      ...(rest.warnings.length === 0 ? {} : { warnings: rest.warnings }),
      ...(failures.length === 0 ? {} : { error: this.#failureText() }),
    }
  }

  /**
   * Statistics and hits of a shard come from one replica. If a replica goes away between them, both are asked
   * again, once.
   */
  async #searched(conditions: TextConditions): Promise<readonly TextSearchAnswer[]> {
    const moves = (): number => this.#table.moves?.() ?? 0
    for (let isLast = false; ; isLast = true) {
      const statistics = await this.#timed('statistics', () => this.#statistics(conditions))
      const before = moves()
      const answers = await this.#timed('search', () => this.#search(conditions, statistics))
      if (isLast || statistics === undefined || moves() === before) return answers
    }
  }

  #conditions(): TextConditions {
    const { fullText, filter, exclusion, keyPrefix } = this.#request
    return {
      query: portableQuery(fullText),
      filter: portableQuery(filter),
      exclusion: portableQuery(exclusion),
      keyPrefix,
    }
  }

  /** Undefined for a table of one shard, which uses its own statistics. */
  async #statistics(conditions: TextConditions): Promise<TextStatistics | undefined> {
    if (this.#fanOut.total === 1) return undefined
    // The caller ignores the scores.
    const isUnscored = conditions.query === undefined || this.#request.countOnly
    if (isUnscored) return mergeStatistics([])
    return this.#tableStatistics(conditions)
  }

  async #tableStatistics(conditions: TextConditions): Promise<TextStatistics> {
    const asked = { kind: 'text', question: 'statistics', request: { conditions } } as const
    return mergeStatistics(await this.#fanOut.askAll((shard) => this.#ask(shard, asked)))
  }

  #search(
    conditions: TextConditions,
    statistics: TextStatistics | undefined,
  ): Promise<readonly TextSearchAnswer[]> {
    const { order, aggregations } = this.#request
    const search: TextSearchRequest = {
      conditions,
      order,
      window: this.#window(),
      aggregations: portableAggregations(aggregations),
      statistics,
      nowMs: this.#nowMs,
    }
    const asked = { kind: 'text', question: 'search', request: search } as const
    return this.#fanOut.askAll(async (shard) => {
      const answer = unpackAnswer(await this.#ask(shard, asked))
      return runInTurn(answer, { clock: this.#clock, signal: this.#deadline.signal })
    })
  }

  #ask<Name extends QuestionOf<'text'>>(
    shard: QueriedShard,
    asked: IndexRequest<'text', Name>,
  ): Promise<IndexAnswer<'text', Name>> {
    const limits = { signal: this.#deadline.signal, deadlineMs: this.#deadline.atMs }
    return shard.search(this.#table.textIndex, asked, limits)
  }

  #window(): TextWindow {
    const { page, countOnly } = this.#request
    if (countOnly) return { kind: 'first', limit: 0 }
    return page.kind === 'offset' ? { kind: 'first', limit: page.offset + page.limit } : page
  }

  async #merge(answers: readonly TextSearchAnswer[]) {
    const { aggregations } = this.#request
    const page = await this.#pageOf(answers.map(({ hits }) => hits))
    const parts = answers.map((answer) => answer.aggregations)
    const partials = await this.#sliced(mergePartialsSliced(parts))
    const cut = [...(await this.#sliced(cutAggregations(partials)))].map(
      (name) => `aggregation "${name}" has too many terms: counts of rare ones may be too low`,
    )
    const results = aggregationResultsSliced(aggregations, partials, this.#nowMs)
    return {
      page,
      rest: {
        counts: {
          total: answers.reduce((sum, { total }) => sum + total, 0),
          max_score: answers.reduce((most, { maxScore }) => Math.max(most, maxScore), 0),
        },
        aggregations: aggregations.size === 0 ? undefined : await this.#sliced(results),
        warnings: [...unanimous(answers), ...cut],
      },
    }
  }

  async #pageOf(lists: readonly (readonly TextHit[])[]): Promise<readonly TextHit[]> {
    const { page, countOnly, pruner, order } = this.#request
    if (countOnly) return []
    const compare = (a: TextHit, b: TextHit): number => compareHits(order, a, b)
    if (page.kind === 'before') return this.#sliced(mergeLastHits(lists, page.limit, compare))
    const offset = page.kind === 'offset' ? page.offset : 0
    const window = await this.#sliced(mergeHits(lists, offset + page.limit, compare))
    return (pruner === undefined ? window : pruneHits(window, pruner)).slice(offset)
  }

  #sliced<Result>(work: Sliced<Result>): Promise<Result> {
    return runSliced(work, { clock: this.#clock, signal: this.#deadline.signal })
  }

  #fetch(page: readonly TextHit[]): Promise<readonly QueryHit[]> {
    const read = (key: Buffer) => {
      const shard = this.#table.shardOf(key)
      return this.#fanOut.attempt(shard, () => shard.read(key))
    }
    const request = this.#request
    const mark = buildMarkDocuments(request, {
      shardOf: (key) => this.#table.shardOf(key),
      ask: async (shard, marks) => {
        const asked = { kind: 'text', question: 'highlight', request: marks } as const
        return this.#fanOut.attempt(shard, () => this.#ask(shard, asked))
      },
    })
    const options = { clock: this.#clock, request, mark, read, memory: this.#memory }
    return fetchPage(options, page)
  }

  #suggestions(): Promise<readonly QuerySuggestion[]> {
    const conditions = this.#conditions()
    const { queryString } = this.#request
    return suggestFor(
      { query: conditions.query, queryString },
      {
        words: (request) => {
          const asked = { kind: 'text', question: 'suggest', request } as const
          return this.#fanOut.askAll((shard) => this.#ask(shard, asked))
        },
        statistics: (terms) => this.#tableStatistics({ ...conditions, query: terms }),
        sliced: (work) => this.#sliced(work),
      },
    )
  }

  #profile(): QueryProfile {
    const { total, failures } = this.#fanOut
    const shards = { total, successful: total - failures.length, failed: failures.length }
    return { shards, phases: this.#phases }
  }

  #failureText(): string {
    const { total, failures } = this.#fanOut
    const [first] = failures
    return `${failures.length} of ${total} shards did not answer, so hits may be missing: ${first?.message ?? ''}`
  }

  async #timed<Value>(phase: keyof QueryPhases, act: () => Promise<Value>): Promise<Value> {
    const startMs = this.#clock.monotonicMs()
    const value = await act()
    this.#phases[phase] = Math.round((this.#clock.monotonicMs() - startMs) * 1000) / 1000
    return value
  }
}

/**
 * The warnings of all shards. A single shard may lack a field that documents of other shards have.
 */
function unanimous(answers: readonly TextSearchAnswer[]): readonly string[] {
  const [first, ...others] = answers
  const warnings = first?.warnings ?? []
  return warnings.filter((warning) => others.every((other) => other.warnings.includes(warning)))
}
