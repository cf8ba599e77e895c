import type { EngineQuery } from '../engine-query.ts'
import { NO_MORE } from '../segment/postings-cursor.ts'
import { intersect, newBitset, subtract, type Bitset } from './bitset.ts'
import { isAccepted, type BulkSearch } from './bulk-search.ts'
import { searchConjunction } from './conjunction.ts'
import { searchDisjunction } from './disjunction.ts'
import type { LiveSegment } from './live-segment.ts'
import { Poll, type Interrupt } from './poll.ts'
import { QueryCompiler } from './query-compiler.ts'
import { planQuery, type QueryPlan } from './query-plan.ts'
import { checkExpansion, keyBytes, keyText } from './set-query.ts'
import {
  compareHits,
  SortedHits,
  type SortedHit,
  type SortField,
  type SortValue,
} from './sorted-hits.ts'
import { gatherStatistics, scoringTerms, Weights, type TermStatistics } from './statistics.ts'
import { TopHits } from './top-hits.ts'

export interface MatchRequest {
  readonly query: EngineQuery
  readonly filter?: EngineQuery
  /** Documents with 0 < expiresAtMs <= nowMs are not found. */
  readonly nowMs: number
  readonly interrupt: Interrupt
}

export interface SearchRequest extends MatchRequest {
  readonly limit: number
  /** Default: by score, the best first. Ties are in ascending order of keys. */
  readonly sort?: readonly SortField[]
  /** Only hits behind this one, in the order asked for: the last hit of the page before. */
  readonly after?: SearchBoundary
  /** Of the whole table. Default: this index's own. */
  readonly statistics?: TermStatistics
  /** Count every match; else `total` may be a lower bound, and the search faster. */
  readonly countTotal: boolean
}

export interface SearchBoundary {
  readonly score: number
  readonly sortValues: readonly SortValue[]
  readonly key: Uint8Array
}

export interface SearchHit extends SearchBoundary {}

export interface SearchResult {
  readonly hits: readonly SearchHit[]
  readonly total: number
  readonly isTotalExact: boolean
  /** The best score among the hits; 0 for none. */
  readonly maxScore: number
}

/** Documents of one segment that match, ascending. `docs` is good until the visitor returns. */
export type MatchVisitor = (live: LiveSegment, docs: Uint32Array) => void

const DOCS_PER_VISIT = 1024
const BY_SCORE: readonly SortField[] = [{ by: 'score', descending: true }]

export function search(segments: readonly LiveSegment[], request: SearchRequest): SearchResult {
  const run = new Search(segments, request, request.statistics)
  return request.sort === undefined
    ? searchByScore(run, segments, request)
    : searchSorted(run, segments, { ...request, sort: request.sort })
}

export function collect(
  segments: readonly LiveSegment[],
  request: MatchRequest,
  visit: MatchVisitor,
): void {
  const run = new Search(segments, request, undefined)
  const docs = new Uint32Array(DOCS_PER_VISIT)
  for (const live of segments) {
    let count = 0
    run.walk(live, (doc) => {
      docs[count] = doc
      count += 1
      if (count < DOCS_PER_VISIT) return
      visit(live, docs)
      count = 0
    })
    if (count > 0) visit(live, docs.subarray(0, count))
  }
}

function searchByScore(
  run: Search,
  segments: readonly LiveSegment[],
  request: SearchRequest,
): SearchResult {
  const { limit, after, countTotal } = request
  const boundary = after === undefined ? undefined : { score: after.score, key: keyText(after.key) }
  let best: SortedHit[] = []
  let total = 0
  for (const live of segments) {
    const floor = best.length === limit ? (best.at(-1)?.score ?? 0) : 0
    const hits = new TopHits(live.segment, { limit, floor, after: boundary })
    total += run.top(live, hits, countTotal)
    const found: SortedHit[] = []
    for (let i = 0; i < hits.length; i += 1) {
      const score = hits.scores[i] ?? 0
      const key = live.segment.key(hits.docs[i] ?? 0)
      found.push({ key, score, sortValues: [score] })
    }
    best = mergeHits(best, found, { sort: BY_SCORE, limit })
  }
  return resultOf(best, { total, isTotalExact: countTotal })
}

function searchSorted(
  run: Search,
  segments: readonly LiveSegment[],
  request: SearchRequest & { readonly sort: readonly SortField[] },
): SearchResult {
  const { limit, sort, after } = request
  const boundary =
    after === undefined ? undefined : { sortValues: after.sortValues, key: keyText(after.key) }
  let best: SortedHit[] = []
  let total = 0
  for (const live of segments) {
    const hits = new SortedHits(live.segment, { limit, sort, after: boundary })
    run.walk(live, (doc, score) => {
      total += 1
      hits.offer(doc, score())
    })
    best = mergeHits(best, hits.finish(), { sort, limit })
  }
  return resultOf(best, { total, isTotalExact: true })
}

function mergeHits(
  a: readonly SortedHit[],
  b: readonly SortedHit[],
  { sort, limit }: { readonly sort: readonly SortField[]; readonly limit: number },
): SortedHit[] {
  return [...a, ...b].toSorted((x, y) => compareHits(sort, x, y)).slice(0, limit)
}

function resultOf(
  best: readonly SortedHit[],
  counts: { readonly total: number; readonly isTotalExact: boolean },
): SearchResult {
  const hits = best.map(({ key, score, sortValues }) => ({ key: keyBytes(key), score, sortValues }))
  const maxScore = hits.reduce((most, { score }) => Math.max(most, score), 0)
  return { hits, ...counts, maxScore }
}

/** One query under fixed statistics, segment by segment. */
class Search {
  readonly #request: MatchRequest
  readonly #weights: Weights
  readonly #plan: QueryPlan
  readonly #poll: Poll

  constructor(
    segments: readonly LiveSegment[],
    request: MatchRequest,
    statistics: TermStatistics | undefined,
  ) {
    const { query, filter } = request
    this.#request = request
    this.#poll = new Poll(request.interrupt)
    request.interrupt()
    const plan = planQuery(query)
    this.#plan = filter === undefined ? plan : { ...plan, filters: [...plan.filters, filter] }
    const parts = filter === undefined ? [query] : [query, filter]
    for (const part of parts) checkExpansions(part, segments, this.#poll)
    const needed = allTerms(parts)
    this.#weights = new Weights(withStatistics(gatherStatistics(segments, needed), statistics))
  }

  /** Fills `hits`; answers how many matches were seen, all of them if `countsAll`. */
  top(live: LiveSegment, hits: TopHits, countsAll: boolean): number {
    if (hits.bar === Infinity && !countsAll) return 0
    const { body, boost } = this.#plan
    if (body.kind === 'walk') return this.#topByWalk(live, hits)
    const compiler = this.#compiler(live)
    const found = body.terms.map((term) => compiler.term(term, boost))
    const terms = found.filter((term) => term !== undefined)
    const [first, ...others] = terms
    if (first === undefined) return 0
    if (body.kind === 'all-terms' && terms.length < found.length) return 0
    const accepted = this.#accepted(live, compiler)
    const bulk: BulkSearch = { hits, accepted, countsAll, poll: this.#poll }
    return body.kind === 'all-terms' && others.length > 0
      ? searchConjunction([first, ...others], bulk)
      : searchDisjunction(terms, live.segment.docCount, bulk)
  }

  /** Visits every match in order of documents. */
  walk(live: LiveSegment, visit: (doc: number, score: () => number) => void): void {
    const compiler = this.#compiler(live)
    const accepted = this.#accepted(live, compiler)
    const scorer = compiler.compile(this.#bodyQuery())
    const score = (): number => scorer.score()
    for (let doc = scorer.next(); doc !== NO_MORE; doc = scorer.next()) {
      this.#poll.spend(2)
      if (isAccepted(accepted, doc)) visit(doc, score)
    }
  }

  #topByWalk(live: LiveSegment, hits: TopHits): number {
    let total = 0
    this.walk(live, (doc, score) => {
      total += 1
      hits.offer(doc, score())
    })
    return total
  }

  #compiler(live: LiveSegment): QueryCompiler {
    return new QueryCompiler(live, this.#weights, this.#poll)
  }

  /** The plan's body as a query; its filters and exclusions are in the accepted set. */
  #bodyQuery(): EngineQuery {
    const { body, boost } = this.#plan
    if (body.kind === 'walk') return body.query
    const parts = { mustNot: [], filter: [], minShould: 0, boost }
    return body.kind === 'all-terms'
      ? { kind: 'boolean', ...parts, must: body.terms, should: [] }
      : { kind: 'boolean', ...parts, must: [], should: body.terms }
  }

  /** What is neither deleted nor expired nor filtered out; undefined for all. */
  #accepted(live: LiveSegment, compiler: QueryCompiler): Bitset | undefined {
    const { filters, excluded } = this.#plan
    const without = excluded.map((query) => compiler.set(query))
    const expired = live.expiredAt(this.#request.nowMs)
    if (expired !== undefined) without.push(expired)
    if (live.log.length > 0) without.push(live.deleted)
    if (filters.length === 0 && without.length === 0) return undefined
    const sets = filters.map((query) => compiler.set(query))
    const accepted = sets.shift() ?? newBitset(live.segment.docCount).fill(0xffffffff)
    for (const set of sets) intersect(accepted, set)
    for (const set of without) subtract(accepted, set)
    return accepted
  }
}

/** The given statistics, and our own where they say nothing. */
function withStatistics(own: TermStatistics, given: TermStatistics | undefined): TermStatistics {
  if (given === undefined) return own
  return {
    fields: new Map([...own.fields, ...given.fields]),
    docFreqs: new Map([...own.docFreqs, ...given.docFreqs]),
  }
}

/** With those of filters, whose scorers are built though their scores are not used. */
function allTerms(queries: readonly EngineQuery[]): ReturnType<typeof scoringTerms> {
  return queries.flatMap((query) => [...scoringTerms(query), ...allTerms(unscoredParts(query))])
}

function unscoredParts(query: EngineQuery): readonly EngineQuery[] {
  if (query.kind === 'best') return query.parts.flatMap(unscoredParts)
  if (query.kind !== 'boolean') return []
  const inScored = [...query.must, ...query.should].flatMap(unscoredParts)
  return [...query.filter, ...query.mustNot, ...inScored]
}

function checkExpansions(query: EngineQuery, segments: readonly LiveSegment[], poll: Poll): void {
  if (query.kind === 'expand') {
    const parts = segments.map(({ segment }) => segment)
    checkExpansion(parts, query, poll)
  }
  if (query.kind === 'best') for (const part of query.parts) checkExpansions(part, segments, poll)
  if (query.kind !== 'boolean') return
  for (const part of [...query.must, ...query.should, ...query.mustNot, ...query.filter]) {
    checkExpansions(part, segments, poll)
  }
}
