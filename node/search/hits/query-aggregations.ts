// The aggregations of a query: the parts of all shards as one result.

import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import {
  aggregationResultsSliced,
  cutAggregations,
  type AggregationResults,
} from '../../index/text/aggregation/aggregation-result.ts'
import { mergePartialsSliced } from '../../index/text/aggregation/merge-partials.ts'
import type { TextConditions, TextSearchAnswer } from '../../index/text/search/text-search.ts'
import type { Query } from '../../query/query-tree.ts'
import type { QueriedShard, QueriedTable } from '../tables/queried-table.ts'
import type { QueryRun } from '../run/query-run.ts'
import type { ShardFanOut } from '../run/shard-fan-out.ts'
import { TextSearcher } from './text-searcher.ts'

/** Keys that are sorted to their shards in about a millisecond. */
const KEYS_PER_STEP = 2000

/** Results by name, with what they may lack. */
export interface FoundAggregations {
  /** Undefined if the query asks for none. */
  readonly results: AggregationResults | undefined
  readonly warnings: readonly string[]
}

export async function mergeAggregations(
  run: QueryRun,
  answers: readonly TextSearchAnswer[],
): Promise<FoundAggregations> {
  const { aggregations } = run.request
  if (aggregations.size === 0) return { results: undefined, warnings: [] }
  const partials = await run.sliced(
    mergePartialsSliced(answers.map((answer) => answer.aggregations)),
  )
  const warnings = [...(await run.sliced(cutAggregations(partials)))].map(
    (name) => `aggregation "${name}" has too many terms: counts of rare ones may be too low`,
  )
  const results = await run.sliced(aggregationResultsSliced(aggregations, partials, run.nowMs))
  return { results, warnings }
}

/** The set of documents that merged hits are counted over. */
export interface CountedSet {
  readonly textIndex: string
  /** The documents of all windows. */
  readonly keys: readonly Uint8Array[]
  /** Undefined, or the conditions of all matches of the words, which count as well. */
  readonly matches: TextConditions | undefined
}

/** Each shard counts the documents of the set that it has. */
export async function aggregateSet(
  run: QueryRun,
  { textIndex, keys, matches }: CountedSet,
  fanOut: ShardFanOut<QueriedShard>,
): Promise<FoundAggregations> {
  const byShard = await run.sliced(groupByShard(run.table, keys))
  const filterOf = (shard: QueriedShard): Query => {
    const listed: Query = { kind: 'ids', ids: byShard.get(shard) ?? [], boost: 1 }
    return matches === undefined ? listed : eitherOf(listed, matches)
  }
  const keyPrefix = matches?.keyPrefix
  const searcher = new TextSearcher(
    run,
    {
      index: textIndex,
      conditions: { query: undefined, filter: undefined, exclusion: undefined, keyPrefix },
      filterOf,
      order: run.request.order,
      window: { kind: 'first', limit: 0 },
      aggregations: run.request.aggregations,
      isScored: false,
    },
    fanOut,
  )
  return mergeAggregations(run, await searcher.answers())
}

function* groupByShard(
  table: QueriedTable,
  keys: readonly Uint8Array[],
): Sliced<ReadonlyMap<QueriedShard, readonly string[]>> {
  const meter = new StepMeter(KEYS_PER_STEP)
  const byShard = new Map<QueriedShard, string[]>()
  for (const bytes of keys) {
    if (meter.spend(1)) yield
    const key = Buffer.from(bytes)
    const shard = table.shardOf(key)
    const known = byShard.get(shard)
    if (known === undefined) byShard.set(shard, [key.toString()])
    else known.push(key.toString())
  }
  return byShard
}

const EVERYTHING: Query = { kind: 'all', boost: 1 }

function eitherOf(listed: Query, { query, filter, exclusion }: TextConditions): Query {
  const boolean = { kind: 'boolean', must: [], mustNot: [], boost: 1 } as const
  const matching: Query = {
    ...boolean,
    should: [],
    minShould: 0,
    mustNot: exclusion === undefined ? [] : [exclusion],
    filter: [query ?? EVERYTHING, ...(filter === undefined ? [] : [filter])],
  }
  return { ...boolean, should: [listed, matching], minShould: 1, filter: [] }
}
