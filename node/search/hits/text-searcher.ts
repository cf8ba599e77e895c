// Searches one full-text index over all shards.
//
//   statistics ──► search ──► merge
//   of all shards, in every shard
//   for the scores

import { runInTurn } from '../../../lib/sliced.ts'
import { TEXT_INDEX } from '../../index/kinds/text-descriptor.ts'
import { compareHits } from '../../index/text/search/hit-order.ts'
import { mergeHits, mergeLastHits } from '../../index/text/search/merge-hits.ts'
import { mergeStatistics } from '../../index/text/search/merge-statistics.ts'
import { unpackAnswer, type PackedAnswer } from '../../index/text/search/packed-answer.ts'
import type {
  TextConditions,
  TextHit,
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextWindow,
} from '../../index/text/search/text-search.ts'
import type { Query } from '../../query/query-tree.ts'
import type { Aggregations } from '../../query/request/aggregation-request.ts'
import type { SortKey } from '../../query/request/query-cursor.ts'
import type { QueriedShard } from '../tables/queried-table.ts'
import type { QueryRun } from '../run/query-run.ts'
import type { ShardFanOut } from '../run/shard-fan-out.ts'

/** What is searched for in a full-text index. */
export interface TextSearch {
  readonly index: string
  readonly conditions: TextConditions
  /** In place of the filter of the conditions, one for each shard. */
  readonly filterOf?: (shard: QueriedShard) => Query
  readonly order: readonly SortKey[]
  readonly window: TextWindow
  readonly aggregations: Aggregations
  /** False if nobody looks at the scores, which then need no statistics. */
  readonly isScored: boolean
  /** Those of the page before: instead of the present ones. */
  readonly statistics?: TextStatistics | undefined
}

/** One search, with the answers of its shards. */
export class TextSearcher {
  readonly #run: QueryRun
  readonly #search: TextSearch
  readonly #fanOut: ShardFanOut<QueriedShard>
  #statisticsUsed: TextStatistics | undefined

  constructor(run: QueryRun, search: TextSearch, fanOut: ShardFanOut<QueriedShard>) {
    this.#run = run
    this.#search = search
    this.#fanOut = fanOut
  }

  /**
   * Statistics and hits of a shard come from one replica. If a replica goes away between them, both are asked
   * again, once.
   */
  async answers(): Promise<readonly TextSearchAnswer[]> {
    const moves = (): number => this.#run.table.moves?.() ?? 0
    for (let isLast = false; ; isLast = true) {
      const statistics = await this.#run.timed('statistics', () => this.#statistics())
      const before = moves()
      const answers = await this.#run.timed('search', () => this.#answers(statistics))
      this.#statisticsUsed = statistics ?? answers[0]?.statistics
      if (isLast || statistics === undefined || moves() === before) return answers
    }
  }

  /** What the scores of the last answers depend on; undefined if nobody knows. */
  get statisticsUsed(): TextStatistics | undefined {
    return this.#search.isScored ? this.#statisticsUsed : undefined
  }

  /** The hits of all shards, in the order of the search. */
  merged(answers: readonly TextSearchAnswer[]): Promise<readonly TextHit[]> {
    const { window, order } = this.#search
    const lists = answers.map(({ hits }) => hits)
    const compare = (a: TextHit, b: TextHit): number => compareHits(order, a, b)
    const merge = window.kind === 'before' ? mergeLastHits : mergeHits
    return this.#run.sliced(merge(lists, window.limit, compare))
  }

  /** Undefined for a table of one shard, which uses its own statistics. */
  async #statistics(): Promise<TextStatistics | undefined> {
    if (this.#search.statistics !== undefined) return this.#search.statistics
    if (this.#fanOut.total === 1) return undefined
    return this.#search.isScored
      ? tableStatistics(this.#run, this.#search, this.#fanOut)
      : mergeStatistics([])
  }

  #answers(statistics: TextStatistics | undefined): Promise<readonly TextSearchAnswer[]> {
    const { conditions, filterOf, order, window, aggregations } = this.#search
    const search: TextSearchRequest = {
      conditions,
      order,
      window,
      aggregations,
      statistics,
      nowMs: this.#run.nowMs,
    }
    if (filterOf === undefined) return this.#sameOfAll(search)
    return this.#fanOut.askAll(async (shard) => {
      const request = { ...search, conditions: { ...conditions, filter: filterOf(shard) } }
      const asked = { kind: TEXT_INDEX.kind, question: 'search', request } as const
      return this.#unpacked(await this.#run.ask(shard, this.#search.index, asked))
    })
  }

  /** An answer may be that of several shards. */
  async #sameOfAll(request: TextSearchRequest): Promise<readonly TextSearchAnswer[]> {
    const asked = { kind: TEXT_INDEX.kind, question: 'search', request } as const
    const packed = await this.#run.askTogether(this.#fanOut, this.#search.index, asked)
    const answers: TextSearchAnswer[] = []
    for (const one of packed) answers.push(await this.#unpacked(one))
    return answers
  }

  async #unpacked(packed: PackedAnswer): Promise<TextSearchAnswer> {
    return runInTurn(unpackAnswer(packed), { clock: this.#run.clock, signal: this.#run.signal })
  }
}

/** The statistics of the table that the scores of a query depend on. */
export async function tableStatistics(
  run: QueryRun,
  { index, conditions }: Pick<TextSearch, 'index' | 'conditions'>,
  fanOut: ShardFanOut<QueriedShard>,
): Promise<TextStatistics> {
  const request = { conditions }
  const asked = { kind: TEXT_INDEX.kind, question: 'statistics', request } as const
  return mergeStatistics(await run.askTogether(fanOut, index, asked))
}
