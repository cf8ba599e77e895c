// A query whose hits come from several indexes, from vectors, or from a reranker.
//
//   text index ────┐ window of each,
//   vectors ───────┤ side by side     ──► fuse ──► rerank ──► prune ──► page
//   vectors ───────┘
//
// With the strategy `failover` the words are looked for only when no index of vectors has answered.

import { must } from '../../../lib/assert.ts'
import { isServiceError } from '../../../lib/errors.ts'
import type { TextSearchAnswer } from '../../index/text/search/text-search.ts'
import { fuseLists, isOfVectors, type RankedList } from '../../query/fusion/fuse-lists.ts'
import type { MergedListId } from '../../query/request/merged-cursor.ts'
import { listsDigest, queryDigest } from '../../query/request/query-digest.ts'
import { cutList } from '../../query/fusion/cut-list.ts'
import { pruneHits } from '../../query/fusion/prune-hits.ts'
import { buildNearestFilter, type NearestFilter } from './filtered-nearest.ts'
import { emptyWarnings } from '../plan/chosen-vectors.ts'
import type { FoundHits } from './found-hits.ts'
import { thresholdOf } from '../plan/list-thresholds.ts'
import type { ListedHit, MergedHit } from './merged-hit.ts'
import { boundsOf, endWarnings, pageHitsOf } from './merged-page.ts'
import { NearestSearcher } from './nearest-searcher.ts'
import { aggregateSet, type FoundAggregations } from './query-aggregations.ts'
import type { QueriedShard } from '../tables/queried-table.ts'
import type { MergedLists, NearestList, TextList } from '../plan/query-lists.ts'
import type { MergeProfile } from '../run/query-result.ts'
import { conditionsOf, type QueryRun } from '../run/query-run.ts'
import { rerankHits } from './rerank-hits.ts'
import type { ShardFanOut } from '../run/shard-fan-out.ts'
import { TextSearcher } from './text-searcher.ts'
import { unanimous } from '../../index/text/search/unanimous.ts'

interface FoundList extends RankedList<ListedHit> {
  /** The documents that match words; undefined for vectors, of which every document is a match. */
  readonly total: number | undefined
  readonly warnings: readonly string[]
}

/** One list of a plan, found over all shards. */
type Search = (fanOut: ShardFanOut<QueriedShard>) => Promise<FoundList>

/** A merged query under way. */
export class MergedQuery {
  readonly #run: QueryRun
  readonly #lists: MergedLists
  readonly #textIndex: string | undefined
  readonly #filter: NearestFilter

  constructor(run: QueryRun, lists: MergedLists, textIndex: string | undefined) {
    this.#run = run
    this.#lists = lists
    this.#textIndex = textIndex
    this.#filter = buildNearestFilter(run, textIndex)
  }

  async find(): Promise<FoundHits> {
    const { reranker, pruner, page } = this.#run.request
    const { lists, warnings } = await this.#found()
    const empty = await this.#emptyWarnings(lists)
    await this.#run.parts.turns.take()
    const startMs = this.#run.clock.monotonicMs()
    const { windowSize, config } = this.#lists
    const options = { ...config, windowSize }
    const fused: readonly MergedHit[] = await this.#run.timed('merge', () =>
      this.#run.sliced(fuseLists(lists, options)),
    )
    const merge = this.#profileOf(lists, this.#run.clock.monotonicMs() - startMs)
    // Aggregations are counted while the hits are merged and fetched.
    const counting = this.#aggregations(fused)
    counting.catch(() => undefined) // seen below
    const best =
      reranker === undefined
        ? { hits: fused, warnings: [], profile: undefined }
        : await this.#run.timed('rerank', () =>
            rerankHits(this.#run, reranker, fused.slice(0, windowSize)),
          )
    const kept =
      pruner === undefined ? best.hits : pruneHits(best.hits, pruner, ({ found }) => found.length)
    const listId = await this.#listId(lists)
    const { from, to } = await this.#run.sliced(boundsOf(kept, page, listId))
    const aggregated = await counting
    return {
      page: await this.#run.sliced(pageHitsOf(kept.slice(from, to), listId)),
      total: this.#totalOf(lists, fused),
      maxScore: best.hits[0]?.score ?? 0,
      aggregations: aggregated.results,
      warnings: [
        ...new Set([
          ...warnings,
          ...empty,
          ...lists.flatMap((list) => list.warnings),
          ...this.#filter.warnings,
          ...best.warnings,
          ...aggregated.warnings,
          ...(to >= kept.length ? endWarnings(page, lists, windowSize) : []),
        ]),
      ],
      profile: { merge, ...(best.profile === undefined ? {} : { reranker: best.profile }) },
    }
  }

  /** A filter may leave nothing of any index, so only an index that nothing restricts is looked at. */
  async #emptyWarnings(lists: readonly FoundList[]): Promise<readonly string[]> {
    const { table, request } = this.#run
    const { filter, exclusion, keyPrefix } = request
    if ((filter ?? exclusion ?? keyPrefix) !== undefined) return []
    const idle = lists.filter((list) => isOfVectors(list) && list.hits.length === 0)
    return emptyWarnings(
      table,
      idle.map(({ name }) => name),
    )
  }

  async #listId(lists: readonly FoundList[]): Promise<MergedListId> {
    const { table, request } = this.#run
    const query = await this.#run.sliced(queryDigest(table.name, request))
    const names = lists.map(({ name }) => name)
    return { query, lists: listsDigest(names), windowSize: this.#lists.windowSize }
  }

  async #found(): Promise<{ lists: readonly FoundList[]; warnings: readonly string[] }> {
    const { texts, nearest, config } = this.#lists
    const words = texts.map(
      (list): Search =>
        (fanOut) =>
          this.#matching(list, fanOut),
    )
    const vectors = nearest.map(
      (list): Search =>
        (fanOut) =>
          this.#nearest(list, fanOut),
    )
    if (config.strategy !== 'failover') {
      const lists = await this.#allOf([...words, ...vectors])
      return { lists: withoutIdle(texts, lists), warnings: [] }
    }
    const fanOuts = vectors.map(() => this.#run.newFanOut())
    const tried = await Promise.allSettled(
      vectors.map((search, i) => search(fanOuts[i] ?? this.#run.newFanOut())),
    )
    const lists: FoundList[] = []
    const warnings: string[] = []
    for (const [i, outcome] of tried.entries()) {
      const fanOut = fanOuts[i]
      if (outcome.status === 'fulfilled') {
        lists.push(outcome.value)
        if (fanOut !== undefined) this.#run.count(fanOut)
      } else warnings.push(this.#skipped(nearest[i], outcome.reason))
    }
    if (lists.length > 0) return { lists, warnings }
    return { lists: await this.#allOf(words), warnings }
  }

  /** Side by side. An error of our own, or of the query itself, comes before others. */
  async #allOf(searches: readonly Search[]): Promise<readonly FoundList[]> {
    const settled = await Promise.allSettled(
      searches.map((search) => search(this.#run.countedFanOut())),
    )
    const failed = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    const worst = failed.find((reason) => !isServiceError(reason) || isFinal(reason.code))
    if (failed.length > 0) throw worst ?? failed[0]
    return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }

  /** Says why an index of vectors is left out; throws what no other index can make good. */
  #skipped(list: NearestList | undefined, reason: unknown): string {
    if (!isServiceError(reason) || isFinal(reason.code)) throw reason
    return `failover: index "${list?.index.name ?? ''}" did not answer: ${reason.message}`
  }

  async #matching(
    { index, name, query }: TextList,
    fanOut: ShardFanOut<QueriedShard>,
  ): Promise<FoundList> {
    const search = {
      index,
      conditions: conditionsOf(this.#run.request, query),
      order: this.#run.request.order,
      window: { kind: 'first', limit: this.#lists.windowSize },
      aggregations: new Map(),
      isScored: query !== undefined,
    } as const
    const searcher = new TextSearcher(this.#run, search, fanOut)
    const answers = await searcher.answers()
    const hits = await searcher.merged(answers)
    return {
      name,
      measure: 'score',
      weight: this.#weightOf(name, index),
      hits: cutList(
        hits.map(({ key, score }) => ({ key, value: score })),
        thresholdOf(this.#lists.config, { name, index }),
      ),
      total: totalOf(answers),
      warnings: unanimous(answers),
    }
  }

  async #nearest(list: NearestList, fanOut: ShardFanOut<QueriedShard>): Promise<FoundList> {
    const { name } = list.index
    const threshold = thresholdOf(this.#lists.config, { name, index: name })
    const searcher = new NearestSearcher(this.#run, { ...list, ...threshold }, this.#filter)
    const hits = await searcher.hits(fanOut, this.#lists.windowSize)
    return {
      name,
      measure: list.index.sparse ? 'product' : 'distance',
      weight: this.#weightOf(name, name),
      hits: cutList(
        hits.map((nearest) => {
          const { key, distance } = nearest
          return { key, value: list.index.sparse ? -distance : distance, nearest }
        }),
        threshold,
      ),
      total: undefined,
      warnings: [],
    }
  }

  #weightOf(name: string, index: string): number {
    const { weights } = this.#lists.config
    return weights.get(name) ?? weights.get(index) ?? 1
  }

  /** All matches of the words, or the documents of the windows where these are more: never fewer than there are hits. */
  #totalOf(lists: readonly FoundList[], fused: readonly MergedHit[]): number {
    return Math.max(fused.length, ...lists.map(({ total = 0 }) => total))
  }

  async #aggregations(fused: readonly MergedHit[]): Promise<FoundAggregations> {
    const { aggregations, aggregatesMatches } = this.#run.request
    if (aggregations.size === 0) return { results: undefined, warnings: [] }
    const textIndex = must(this.#textIndex, 'the index that counts, which the plan has checked')
    const [words] = this.#lists.texts
    const matches = aggregatesMatches ? conditionsOf(this.#run.request, words?.query) : undefined
    const keys = fused.map(({ key }) => key)
    return this.#run.timed('aggregate', () =>
      aggregateSet(this.#run, { textIndex, keys, matches }, this.#run.countedFanOut()),
    )
  }

  #profileOf(lists: readonly FoundList[], tookMs: number): MergeProfile {
    const count = (ofVectors: boolean): number =>
      lists.reduce((sum, list) => sum + (isOfVectors(list) === ofVectors ? list.hits.length : 0), 0)
    return {
      strategy: this.#lists.config.strategy,
      full_text_hits: count(false),
      semantic_hits: count(true),
      duration_ms: Math.round(tookMs),
    }
  }
}

/** Where vectors found something, a search that every document matches says nothing about their order. */
function withoutIdle(
  texts: readonly TextList[],
  lists: readonly FoundList[],
): readonly FoundList[] {
  const hasNearest = lists.some((list) => isOfVectors(list) && list.hits.length > 0)
  return hasNearest ? lists.map((list, i) => (isIdle(texts[i]) ? withoutHits(list) : list)) : lists
}

function isIdle(text: TextList | undefined): boolean {
  return text?.query?.kind === 'all'
}

function withoutHits(list: FoundList): FoundList {
  return { ...list, hits: [] }
}

function isFinal(code: string): boolean {
  return code === 'INVALID_ARGUMENT' || code === 'DEADLINE_EXCEEDED' || code === 'CANCELLED'
}

function totalOf(answers: readonly TextSearchAnswer[]): number {
  return answers.reduce((sum, { total }) => sum + total, 0)
}
