// A query whose hits come from several indexes, from vectors, or from a reranker.
//
//   text index ────┐ window of each,
//   vectors ───────┤ side by side     ──► fuse ──► rerank ──► prune ──► page
//   vectors ───────┘
//
// With the strategy `failover` the words are looked for only when no index of vectors has answered.

import { must } from '../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { isServiceError } from '../../../lib/errors.ts'
import type { NearestHit } from '../../index/vector/vector-search.ts'
import type { TextSearchAnswer } from '../../index/text/search/text-search.ts'
import {
  fuseLists,
  indexScoresOf,
  type FoundIn,
  type RankedHit,
  type RankedList,
} from '../../query/fusion/fuse-lists.ts'
import { pruneHits } from '../../query/fusion/prune-hits.ts'
import { buildNearestFilter, type NearestFilter } from './filtered-nearest.ts'
import type { FoundHits, PageHit } from './found-hits.ts'
import { NearestSearcher } from './nearest-searcher.ts'
import { aggregateSet, type FoundAggregations } from './query-aggregations.ts'
import type { QueriedShard } from './queried-table.ts'
import type { MergedLists, NearestList, TextList } from './query-plan.ts'
import type { MatchedPart, MergeProfile } from './query-result.ts'
import { conditionsOf, type QueryRun } from './query-run.ts'
import { rerankHits } from './rerank-hits.ts'
import type { ShardFanOut } from './shard-fan-out.ts'
import { TextSearcher } from './text-searcher.ts'
import { unanimous } from './unanimous.ts'

/** Hits of a page that are made in about a millisecond. */
const HITS_PER_STEP = 1000

/** A hit of one list. */
interface ListedHit extends RankedHit {
  /** Present if an index of vectors found it. */
  readonly nearest?: NearestHit
}

/** A document after the lists were fused. */
export interface MergedHit {
  readonly key: Uint8Array
  readonly score: number
  readonly found: readonly FoundIn<ListedHit>[]
}

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
    await this.#run.parts.turns.take()
    const startMs = this.#run.clock.monotonicMs()
    const { windowSize, config } = this.#lists
    const options = { ...config, windowSize }
    const fused: readonly MergedHit[] = await this.#run.timed('merge', () =>
      this.#run.sliced(fuseLists(lists, options)),
    )
    const merge = this.#profileOf(lists, this.#run.clock.monotonicMs() - startMs)
    // Beside what is left to do with the hits.
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
    const offset = page.kind === 'offset' ? page.offset : 0
    const aggregated = await counting
    return {
      page: await this.#run.sliced(pageHitsOf(kept.slice(offset, offset + page.limit))),
      total: this.#totalOf(lists, fused),
      maxScore: best.hits[0]?.score ?? 0,
      aggregations: aggregated.results,
      warnings: [
        ...new Set([
          ...warnings,
          ...lists.flatMap((list) => list.warnings),
          ...this.#filter.warnings,
          ...best.warnings,
          ...aggregated.warnings,
        ]),
      ],
      profile: { merge, ...(best.profile === undefined ? {} : { reranker: best.profile }) },
    }
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
      hits: hits.map(({ key, score }) => ({ key, value: score })),
      total: totalOf(answers),
      warnings: unanimous(answers),
    }
  }

  async #nearest(list: NearestList, fanOut: ShardFanOut<QueriedShard>): Promise<FoundList> {
    const { name } = list.index
    const searcher = new NearestSearcher(this.#run, list, this.#filter)
    const hits = await searcher.hits(fanOut, this.#lists.windowSize)
    return {
      name,
      measure: 'distance',
      weight: this.#weightOf(name, name),
      hits: hits.map((nearest) => ({ key: nearest.key, value: nearest.distance, nearest })),
      total: undefined,
      warnings: [],
    }
  }

  #weightOf(name: string, index: string): number {
    const { weights } = this.#lists.config
    return weights.get(name) ?? weights.get(index) ?? 1
  }

  /** All matches of the words, or the documents of the windows. */
  #totalOf(lists: readonly FoundList[], fused: readonly MergedHit[]): number {
    const totals = lists.flatMap(({ total }) => (total === undefined ? [] : [total]))
    return totals.length > 0 ? Math.max(...totals) : fused.length
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
    const count = (measure: FoundList['measure']): number =>
      lists.reduce((sum, list) => sum + (list.measure === measure ? list.hits.length : 0), 0)
    return {
      strategy: this.#lists.config.strategy,
      full_text_hits: count('score'),
      semantic_hits: count('distance'),
      duration_ms: Math.round(tookMs),
    }
  }
}

/** Where vectors found something, a search that every document matches says nothing about their order. */
function withoutIdle(
  texts: readonly TextList[],
  lists: readonly FoundList[],
): readonly FoundList[] {
  const hasNearest = lists.some(({ measure, hits }) => measure === 'distance' && hits.length > 0)
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

function* pageHitsOf(hits: readonly MergedHit[]): Sliced<readonly PageHit[]> {
  const meter = new StepMeter(HITS_PER_STEP)
  const page: PageHit[] = []
  for (const hit of hits) {
    if (meter.spend(1)) yield
    const { key, score, found } = hit
    page.push({ key, score, indexScores: indexScoresOf(hit), matched: matchedOf(found) })
  }
  return page
}

/** The part that the index found which ranked the document best. */
function matchedOf(found: MergedHit['found']): MatchedPart | undefined {
  const parts = found.filter(({ hit }) => (hit.nearest?.end ?? 0) > 0)
  const [first, ...others] = parts
  if (first === undefined) return undefined
  const best = others.reduce((known, one) => (one.rank < known.rank ? one : known), first)
  const { row = 0, start = 0, end = 0 } = best.hit.nearest ?? {}
  return { index: best.list.name, chunk: row, start, end }
}
