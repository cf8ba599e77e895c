// Answers a query over all shards of a table.
//
//   statistics ──► search ──► merge ──► fetch
//   of all shards, in every shard          the documents of the window,
//   for the scores                         with projection and highlights
//
// A document deleted or expired between search and fetch is left out of the hits.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../lib/clock.ts'
import { must } from '../../../lib/assert.ts'
import { parseExact, type JsonObject } from '../../document/exact-json.ts'
import { isJsonObject } from '../../document/json-object.ts'
import {
  aggregationResults,
  cutAggregations,
} from '../../index/text/aggregation/aggregation-result.ts'
import { mergePartials } from '../../index/text/aggregation/merge-partials.ts'
import { compareHits } from '../../index/text/search/hit-order.ts'
import type {
  TextConditions,
  TextHit,
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextWindow,
} from '../../index/text/search/text-search.ts'
import { encodeCursor } from '../../query/query-cursor.ts'
import type { QueryRequest } from '../../query/query-request.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { SearchLimits } from '../../index/text/worker/remote-text-index.ts'
import { jsonOf, versionOf, type DocumentRecord } from '../../shard/format/document-record.ts'
import type { Shard } from '../../shard/shard.ts'
import { projectStored } from '../stored-projection.ts'
import { buildHighlighter, type Highlighter } from './highlighter.ts'
import type { EventLoopTurns } from './event-loop-turns.ts'
import { mergeStatistics } from './merge-statistics.ts'
import { portableAggregations, portableQuery } from './portable-query.ts'
import { pruneHits } from './prune-hits.ts'
import { QueryDeadline } from './query-deadline.ts'
import type { QueryHit, QueryProfile, QueryResult } from './query-result.ts'
import { ShardFanOut } from './shard-fan-out.ts'

/** Between two looks at other requests and at the deadline. */
const HITS_PER_TURN = 64
const BYTES_PER_TURN = 256 * 1024

/** What a query needs of a shard. */
export type QueriedShard = Pick<Shard, 'read' | 'searchText' | 'textStatistics'>

export interface QueriedTable {
  readonly name: string
  readonly schema: TableSchema | undefined
  /** The name of its full-text index. */
  readonly textIndex: string
  readonly shards: readonly QueriedShard[]
  shardOf(key: Buffer): QueriedShard
}

/** What all queries of a node share. */
export interface QueryParts {
  readonly clock: Clock
  readonly turns: EventLoopTurns
}

/** Refused: INVALID_ARGUMENT, DEADLINE_EXCEEDED, CANCELLED, or the error of a shard if all fail. */
export async function queryTable(
  parts: QueryParts,
  table: QueriedTable,
  { request, signal }: { readonly request: QueryRequest; readonly signal: AbortSignal },
): Promise<QueryResult> {
  using deadline = new QueryDeadline(parts.clock, request.timeoutMs, signal)
  try {
    return await new TableQuery(parts, table, { request, deadline }).run()
  } catch (error) {
    throw deadline.explain(error)
  }
}

class TableQuery {
  readonly #clock: Clock
  readonly #turns: EventLoopTurns
  readonly #table: QueriedTable
  readonly #request: QueryRequest
  readonly #deadline: QueryDeadline
  readonly #fanOut: ShardFanOut<QueriedShard>
  readonly #nowMs: number
  readonly #phases = { statistics: 0, search: 0, merge: 0, fetch: 0 }

  constructor(
    { clock, turns }: QueryParts,
    table: QueriedTable,
    { request, deadline }: { request: QueryRequest; deadline: QueryDeadline },
  ) {
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
    const conditions = this.#conditions()
    const statistics = await this.#timed('statistics', () => this.#statistics(conditions))
    const answers = await this.#timed('search', () => this.#search(conditions, statistics))
    await this.#turns.take()
    const { page, rest } = await this.#timed('merge', async () => this.#merge(answers))
    const hits = await this.#timed('fetch', () => this.#fetch(page))
    const { failures } = this.#fanOut
    return {
      status: 200,
      took: Math.round(this.#clock.monotonicMs() - startMs),
      table: this.#table.name,
      hits: { ...rest.counts, hits },
      ...(rest.aggregations === undefined ? {} : { aggregations: rest.aggregations }),
      ...(this.#request.profile ? { profile: this.#profile() } : {}),
      ...(rest.warnings.length === 0 ? {} : { warnings: rest.warnings }),
      ...(failures.length === 0 ? {} : { error: this.#failureText() }),
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

  get #limits(): SearchLimits {
    return { signal: this.#deadline.signal, deadlineMs: this.#deadline.atMs }
  }

  /** Undefined where the only shard's own are those of the table. */
  async #statistics(conditions: TextConditions): Promise<TextStatistics | undefined> {
    if (this.#fanOut.total === 1) return undefined
    if (conditions.query === undefined) return mergeStatistics([])
    const { textIndex } = this.#table
    const parts = await this.#fanOut.askAll((shard) =>
      shard.textStatistics(textIndex, { conditions }, this.#limits),
    )
    return mergeStatistics(parts)
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
    const { textIndex } = this.#table
    return this.#fanOut.askAll((shard) => shard.searchText(textIndex, search, this.#limits))
  }

  #window(): TextWindow {
    const { page, countOnly } = this.#request
    if (countOnly) return { kind: 'first', limit: 0 }
    return page.kind === 'offset' ? { kind: 'first', limit: page.offset + page.limit } : page
  }

  #merge(answers: readonly TextSearchAnswer[]) {
    const { order, aggregations } = this.#request
    const merged = answers.flatMap(({ hits }) => hits).toSorted((a, b) => compareHits(order, a, b))
    const partials = mergePartials(answers.map((answer) => answer.aggregations))
    const cut = cutAggregations(partials).map(
      (name) => `aggregation "${name}" has too many terms: counts of rare ones may be too low`,
    )
    return {
      page: this.#pageOf(merged),
      rest: {
        counts: {
          total: answers.reduce((sum, { total }) => sum + total, 0),
          max_score: answers.reduce((most, { maxScore }) => Math.max(most, maxScore), 0),
        },
        aggregations:
          aggregations.size === 0
            ? undefined
            : aggregationResults(aggregations, partials, this.#nowMs),
        warnings: [...unanimous(answers), ...cut],
      },
    }
  }

  #pageOf(merged: readonly TextHit[]): readonly TextHit[] {
    const { page, countOnly, pruner } = this.#request
    if (countOnly) return []
    if (page.kind === 'before') return page.limit === 0 ? [] : merged.slice(-page.limit)
    const offset = page.kind === 'offset' ? page.offset : 0
    const window = merged.slice(0, offset + page.limit)
    return (pruner === undefined ? window : pruneHits(window, pruner)).slice(offset)
  }

  async #fetch(page: readonly TextHit[]): Promise<readonly QueryHit[]> {
    const hits: QueryHit[] = []
    const highlighter = buildHighlighter(this.#request, this.#table.schema)
    const turn = { hits: 0, bytes: 0 }
    for (const hit of page) {
      if (turn.hits >= HITS_PER_TURN || turn.bytes >= BYTES_PER_TURN) {
        await nextTurn()
        Object.assign(turn, { hits: 0, bytes: 0 })
      }
      const key = Buffer.from(hit.key)
      const shard = this.#table.shardOf(key)
      const found = this.#fanOut.attempt(shard, () => shard.read(key))
      const record = found instanceof Promise ? await found : found
      if (record === undefined) continue
      hits.push(this.#hitOf({ ...hit, key }, record, highlighter))
      turn.hits += 1
      turn.bytes += record.length
    }
    return hits
  }

  #hitOf(
    { key, score, sortValues }: TextHit & { readonly key: Buffer },
    record: DocumentRecord,
    highlighter: Highlighter | undefined,
  ): QueryHit {
    const { projection, order, fullText } = this.#request
    const document = documentOf(record)
    const source =
      projection === undefined ? document : projectStored(document, projection, versionOf(record))
    const highlight = highlighter?.mark(document)
    return {
      _id: key.toString(),
      _score: score,
      ...(fullText === undefined ? {} : { _index_scores: { full_text: score } }),
      _source: source,
      _sort: encodeCursor(order, { values: sortValues, key }),
      ...(highlight === undefined ? {} : { _highlight: highlight }),
    }
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

  async #timed<Value>(
    phase: keyof QueryProfile['phases'],
    act: () => Promise<Value>,
  ): Promise<Value> {
    const startMs = this.#clock.monotonicMs()
    const value = await act()
    this.#phases[phase] = Math.round((this.#clock.monotonicMs() - startMs) * 1000) / 1000
    return value
  }
}

/** What one shard alone says is that its own documents lack a field, which others may have. */
function unanimous(answers: readonly TextSearchAnswer[]): readonly string[] {
  const [first, ...others] = answers
  const warnings = first?.warnings ?? []
  return warnings.filter((warning) => others.every((other) => other.warnings.includes(warning)))
}

function documentOf(record: DocumentRecord): JsonObject {
  const document = parseExact(jsonOf(record))
  return must(isJsonObject(document) ? document : undefined, 'an object as a stored document')
}
