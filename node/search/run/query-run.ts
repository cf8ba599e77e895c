import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { runInTurn, type Sliced } from '../../../lib/sliced.ts'
import type { HeldMemory } from '../../../lib/http/request-memory.ts'
import { IndexClient } from '../../index/host/index-client.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../../index/kinds/index-questions.ts'
import type { TextConditions } from '../../index/text/search/text-search.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'
import { BehindIndexes } from './behind-indexes.ts'
import { ShardFanOut } from './shard-fan-out.ts'
import type { QueriedShard, QueriedTable, QueryParts } from '../tables/queried-table.ts'
import type { QueryDeadline } from './query-deadline.ts'
import type { QueryPhases } from './query-result.ts'

/** One query, with the signal of the client that waits for it. */
export interface AskedQuery {
  readonly request: QueryRequest
  readonly signal: AbortSignal
  /** Charged with the documents of the answer; undefined: they are counted for nobody. */
  readonly memory?: HeldMemory | undefined
}

/** What all steps of one query share: its table, its request, its deadline, and what its phases took. */
export class QueryRun {
  readonly parts: QueryParts
  readonly table: QueriedTable
  readonly request: QueryRequest
  readonly deadline: QueryDeadline
  readonly memory: HeldMemory | undefined
  /** The time at which documents are expired or not. */
  readonly nowMs: number
  readonly phases: { -readonly [Phase in keyof QueryPhases]: QueryPhases[Phase] } = {
    statistics: 0,
    search: 0,
    merge: 0,
    fetch: 0,
  }

  constructor(
    parts: QueryParts,
    table: QueriedTable,
    { request, memory }: AskedQuery,
    deadline: QueryDeadline,
  ) {
    this.parts = parts
    this.table = table
    this.request = request
    this.deadline = deadline
    this.memory = memory
    this.nowMs = parts.clock.nowMs()
  }

  /** What the answers of indexes may lack. */
  readonly behind = new BehindIndexes<QueriedShard>()
  readonly #counted: ShardFanOut<QueriedShard>[] = []

  /** The shards that failed in any search that the answer rests on, with the first reason of each. */
  get failures(): readonly Error[] {
    const byShard = new Map<QueriedShard, Error>()
    for (const { failed } of this.#counted) {
      for (const [shard, error] of failed) if (!byShard.has(shard)) byShard.set(shard, error)
    }
    return [...byShard.values()]
  }

  /** For a search that the query can do without: its failures do not show until the search is counted. */
  newFanOut(): ShardFanOut<QueriedShard> {
    return new ShardFanOut(this.table.shards, this.deadline.signal)
  }

  count(fanOut: ShardFanOut<QueriedShard>): void {
    this.#counted.push(fanOut)
  }

  countedFanOut(): ShardFanOut<QueriedShard> {
    const fanOut = this.newFanOut()
    this.count(fanOut)
    return fanOut
  }

  get clock(): Clock {
    return this.parts.clock
  }

  get signal(): AbortSignal {
    return this.deadline.signal
  }

  ask<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    shard: QueriedShard,
    index: string,
    asked: IndexRequest<Kind, Name>,
  ): Promise<IndexAnswer<Kind, Name>> {
    const onBehind = (documents: number): void => this.behind.note(index, shard, documents)
    const limits = { signal: this.deadline.signal, deadlineMs: this.deadline.atMs, onBehind }
    return shard.search<Kind, Name>(index, asked, limits)
  }

  /** Asks all shards of the fan-out, those whose indexes share a worker in one message. */
  askTogether<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    fanOut: ShardFanOut<QueriedShard>,
    index: string,
    asked: IndexRequest<Kind, Name>,
  ): Promise<readonly IndexAnswer<Kind, Name>[]> {
    const limits = { signal: this.deadline.signal, deadlineMs: this.deadline.atMs }
    return fanOut.askTogether<IndexAnswer<Kind, Name>>({
      indexOf: (shard) => {
        const onBehind = (documents: number): void => this.behind.note(index, shard, documents)
        return shard.indexAtOnce?.(index, asked.kind, { onBehind })
      },
      mayJoin: (client, count) => client.mayJoin(asked, count),
      askAll: (clients) => IndexClient.askTogether(clients, asked, limits),
      ask: (shard) => this.ask<Kind, Name>(shard, index, asked),
    })
  }

  async sliced<Result>(work: Sliced<Result>): Promise<Result> {
    return runInTurn(work, { clock: this.clock, signal: this.deadline.signal })
  }

  /**
   * Asks a model that the query can do without. It has half of the time that is left, so that the rest of the query has
   * the other half; then it is UNAVAILABLE, as one that refuses connections is.
   */
  async inHalfTheTime<Value>(ask: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const ms = Math.max(0, Math.round((this.deadline.atMs - this.clock.monotonicMs()) / 2))
    const late = new AbortController()
    const silent = `the model did not answer within ${ms} ms, half of the time of the query`
    return prodWhenLate(ask(AbortSignal.any([this.signal, late.signal])), {
      clock: this.clock,
      ms,
      onLate: () => late.abort(new ServiceError('UNAVAILABLE', silent)),
    })
  }

  /** Where acts of one phase run side by side, the longest one counts. */
  async timed<Value>(phase: keyof QueryPhases, act: () => Promise<Value>): Promise<Value> {
    const startMs = this.clock.monotonicMs()
    const value = await act()
    const tookMs = Math.round((this.clock.monotonicMs() - startMs) * 1000) / 1000
    this.phases[phase] = Math.max(this.phases[phase] ?? 0, tookMs)
    return value
  }
}

/** The conditions of a request for a full-text index, with the query that scores. */
export function conditionsOf(
  { filter, exclusion, keyPrefix }: Pick<QueryRequest, 'filter' | 'exclusion' | 'keyPrefix'>,
  query: QueryRequest['fullText'],
): TextConditions {
  return { query, filter, exclusion, keyPrefix }
}
