// A query of words alone, in one full-text index: its hits are those of the index, in the order asked for.

import { assert } from '../../../lib/assert.ts'
import type { TextHit, TextStatistics, TextWindow } from '../../index/text/search/text-search.ts'
import { pruneHits } from '../../query/fusion/prune-hits.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'
import { decodeScoring, encodeScoring } from './cursor-scoring.ts'
import type { FoundHits } from './found-hits.ts'
import { mergeAggregations } from './query-aggregations.ts'
import type { QueriedShard } from '../tables/queried-table.ts'
import type { TextList } from '../plan/query-lists.ts'
import { conditionsOf, type QueryRun } from '../run/query-run.ts'
import type { ShardFanOut } from '../run/shard-fan-out.ts'
import { TextSearcher } from './text-searcher.ts'
import { unanimous } from '../../index/text/search/unanimous.ts'

export async function findWords(
  run: QueryRun,
  { index, query }: TextList,
  fanOut: ShardFanOut<QueriedShard>,
): Promise<FoundHits> {
  const { request } = run
  const search = {
    index,
    conditions: conditionsOf(request, query),
    order: request.order,
    window: windowOf(request),
    aggregations: request.aggregations,
    isScored: query !== undefined && !request.countOnly,
    statistics: pinnedStatistics(request),
  }
  const searcher = new TextSearcher(run, search, fanOut)
  const answers = await searcher.answers()
  await run.parts.turns.take()
  return run.timed('merge', async () => {
    const hits = request.countOnly ? [] : await searcher.merged(answers)
    const aggregated = await mergeAggregations(run, answers)
    return {
      page: pageOf(hits, request),
      scoring: scoringOf(request, searcher.statisticsUsed),
      statistics: searcher.statisticsUsed,
      total: answers.reduce((sum, { total }) => sum + total, 0),
      maxScore: hits.reduce((most, { score }) => Math.max(most, score), 0),
      aggregations: aggregated.results,
      warnings: [...unanimous(answers), ...aggregated.warnings],
      profile: {},
    }
  })
}

/** Pages behind a cursor score as the page that it is from, whatever was written since. */
function pinnedStatistics({ page }: QueryRequest): TextStatistics | undefined {
  const scoring =
    page.kind === 'after' || page.kind === 'before' ? page.position.scoring : undefined
  return scoring === undefined ? undefined : decodeScoring(scoring, `search_${page.kind}`)
}

/** What cursors of the page carry; undefined if its order has nothing to do with scores, or if it is too long. */
function scoringOf(
  { page, order }: QueryRequest,
  statistics: TextStatistics | undefined,
): string | undefined {
  if (statistics === undefined || !order.some(({ field }) => field === '_score')) return undefined
  const pinned = page.kind === 'after' || page.kind === 'before' ? page.position.scoring : undefined
  return pinned ?? encodeScoring(statistics)
}

/** `autocut` looks at 50 hits at least, however short the page is: it ends the list where scores fall. */
const CUT_WINDOW = 50

function windowOf({ page, countOnly, pruner }: QueryRequest): TextWindow {
  if (countOnly) return { kind: 'first', limit: 0 }
  assert(page.kind !== 'merged', 'the plan refuses a cursor into merged hits')
  if (page.kind !== 'offset') return page
  const end = page.offset + page.limit
  // Hits that end by themselves need hits behind their end.
  return { kind: 'first', limit: pruner?.autocut === undefined ? end : Math.max(end, CUT_WINDOW) }
}

function pageOf(
  hits: readonly TextHit[],
  { page, pruner }: Pick<QueryRequest, 'page' | 'pruner'>,
): readonly TextHit[] {
  const kept = pruner === undefined ? hits : pruneHits(hits, pruner, () => 1)
  return page.kind === 'offset' ? kept.slice(page.offset, page.offset + page.limit) : kept
}
