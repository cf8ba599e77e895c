import type { Sliced } from '../../../../lib/sliced.ts'
import type { SortValue } from '../../../query/request/query-cursor.ts'
import { EXACT_SUFFIX } from '../mapping/field-names.ts'
import type { Segment } from '../segment/segment.ts'
import { compareTexts } from '../encoding/compare-texts.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import { SegmentSearch, type MatchRequest } from './segment-search.ts'
import { keyBytes, keyText } from './set-query.ts'
import { compareSorted, SortedHits, type SortedHit, type SortField } from './sorted-hits.ts'
import type { TermStatistics } from './statistics.ts'
import { TopHits } from './top-hits.ts'

/** A key is read from a dictionary in some microseconds. */
const HITS_PER_STEP = 256

/** A query and the requested page. `limit` is the most hits of the page. */
export interface SearchRequest extends MatchRequest {
  readonly limit: number
  /** Default: by score, the best first. Ties are in ascending order of keys. */
  readonly sort?: readonly SortField[]
  /** The last hit of the page before. Only hits behind it, in the requested order, are returned. */
  readonly after?: SearchBoundary
  /** With `sort`: from the last hit towards the first, so that `after` means in front of it. */
  readonly isBackwards?: boolean
  /** Hits that come behind it, in the direction of the search, need not be among the hits. They are counted. */
  readonly bound?: SearchBoundary
  /** The statistics of the whole table. Default: this index's own. */
  readonly statistics?: TermStatistics
  /**
   * Whether every match is counted. Otherwise `total` may be a lower bound, and the search is
   * faster.
   */
  readonly countTotal: boolean
}

/**
 * The place of a hit in the order of a search. A page begins behind the boundary of the page
 * before.
 */
export interface SearchBoundary {
  readonly score: number
  readonly sortValues: readonly SortValue[]
  readonly key: Uint8Array
}

/** A hit is a document and its place in the order; the caller fetches the document by the key. */
export interface SearchHit extends SearchBoundary {}

/**
 * The hits of one page, in the requested order. `total` counts the matches of all pages; it is a
 * lower bound unless `isTotalExact`.
 */
export interface SearchResult {
  readonly hits: readonly SearchHit[]
  readonly total: number
  readonly isTotalExact: boolean
  /** The best score among the hits; 0 for none. */
  readonly maxScore: number
  /** What the scores depend on: the same statistics give each unchanged document the same score. */
  readonly statistics: TermStatistics
}

/** Documents of one segment that match, ascending. `docs` is good until the visitor returns. */
export type MatchVisitor = (live: LiveSegment, docs: Uint32Array) => void

export function* search(
  segments: readonly LiveSegment[],
  request: SearchRequest,
): Sliced<SearchResult> {
  const scoring = { statistics: request.statistics, scores: request.limit > 0 }
  const run = yield* SegmentSearch.begin(segments, request, scoring)
  const { statistics } = run
  return request.sort === undefined
    ? { ...(yield* searchByScore(run, segments, request)), statistics }
    : { ...(yield* searchSorted(run, segments, { ...request, sort: request.sort })), statistics }
}

export function* collect(
  segments: readonly LiveSegment[],
  request: MatchRequest,
  visit: MatchVisitor,
): Sliced<void> {
  const scoring = { statistics: undefined, scores: false }
  const run = yield* SegmentSearch.begin(segments, request, scoring)
  for (const live of segments) yield* run.collect(live, (docs) => visit(live, docs))
}

type Unexplained = Omit<SearchResult, 'statistics'>

function* searchByScore(
  run: SegmentSearch,
  segments: readonly LiveSegment[],
  request: SearchRequest,
): Sliced<Unexplained> {
  const { limit, after, countTotal, bound } = request
  const boundary = after && { score: after.score, key: keyText(after.key) }
  const last = bound && { score: bound.score, key: keyText(bound.key) }
  let best: ScoredHit[] = []
  let total = 0
  for (const live of segments) {
    const floor = best.length === limit ? (best.at(-1)?.score ?? 0) : 0
    const hits = new TopHits(live.segment, { limit, floor, after: boundary, bound: last })
    total += yield* run.top(live, hits, countTotal)
    if (hits.length === 0) continue
    for (let i = 0; i < hits.length; i += 1) {
      best.push(new ScoredHit(live.segment, hits.docs[i] ?? 0, hits.scores[i] ?? 0))
    }
    best = best.toSorted(compareScored).slice(0, limit)
    if (best.length >= HITS_PER_STEP) yield
  }
  return yield* resultOf(best, { total, isTotalExact: countTotal })
}

/** The key is read from the dictionary only when a tie or the answer needs it. */
class ScoredHit implements SortedHit {
  readonly score: number
  readonly #segment: Segment
  readonly #doc: number
  #key: string | undefined

  constructor(segment: Segment, doc: number, score: number) {
    this.#segment = segment
    this.#doc = doc
    this.score = score
  }

  get key(): string {
    this.#key ??= this.#segment.key(this.#doc)
    return this.#key
  }

  get sortValues(): readonly SortValue[] {
    return [this.score]
  }
}

function compareScored(a: ScoredHit, b: ScoredHit): number {
  return a.score === b.score ? compareTexts(a.key, b.key) : b.score - a.score
}

function* searchSorted(
  run: SegmentSearch,
  segments: readonly LiveSegment[],
  request: SearchRequest & { readonly sort: readonly SortField[] },
): Sliced<Unexplained> {
  const { limit, sort, after, bound, isBackwards = false } = request
  const direction = isBackwards ? -1 : 1
  const boundary = after && { sortValues: after.sortValues, key: keyText(after.key) }
  const last = bound && { sortValues: bound.sortValues, key: keyText(bound.key) }
  let best: SortedHit[] = []
  let total = 0
  for (const live of segments) {
    for (const field of sort) {
      if (field.by !== 'column') continue
      yield* prepareTerms(live.segment, field.field)
      yield* prepareTerms(live.segment, field.field + EXACT_SUFFIX)
    }
    const options = { limit, sort, after: boundary, bound: last, isBackwards }
    const hits = new SortedHits(live.segment, options)
    yield* run.walk(live, (doc, scorer) => {
      total += 1
      hits.offer(doc, scorer)
    })
    const found = [...best, ...(yield* hits.finish())]
    best = found.toSorted((a, b) => compareSorted(sort, a, b) * direction).slice(0, limit)
    if (best.length >= HITS_PER_STEP) yield
  }
  return yield* resultOf(best, { total, isTotalExact: true })
}

function* prepareTerms(segment: Segment, field: string): Sliced<void> {
  yield* segment.field(field)?.prepareTerms() ?? []
}

function* resultOf(
  best: readonly SortedHit[],
  counts: { readonly total: number; readonly isTotalExact: boolean },
): Sliced<Unexplained> {
  const hits: SearchHit[] = []
  for (const { key, score, sortValues } of best) {
    if (hits.length % HITS_PER_STEP === HITS_PER_STEP - 1) yield
    hits.push({ key: keyBytes(key), score, sortValues })
  }
  const maxScore = hits.reduce((most, { score }) => Math.max(most, score), 0)
  return { hits, ...counts, maxScore }
}
