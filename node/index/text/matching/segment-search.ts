// Searches one query under fixed statistics, in one segment after the other. It chooses the loop
// that finds the best hits, and the way of counting all hits.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { EngineQuery } from '../engine-query.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import type { Bitset } from '../../encoding/bitset.ts'
import {
  acceptedDocuments,
  acceptsAll,
  acceptsLive,
  type Conditions,
} from './accepted-documents.ts'
import { isAccepted, u32At, type BulkSearch } from './bulk-search.ts'
import { searchConjunction } from './conjunction.ts'
import { raiseFirstBar } from './first-bar.ts'
import { scoreAnyTerm, searchDisjunction } from './disjunction.ts'
import type { LiveSegment, SegmentTerm } from '../live/live-segment.ts'
import { countAnyTerm, countTerm } from './match-count.ts'
import { Poll } from '../poll.ts'
import { QueryCompiler } from './query-compiler.ts'
import { planMatching, type MatchingPlan } from './matching-plan.ts'
import {
  gatherExpansions,
  hasRanked,
  rankExpansions,
  type Expansions,
} from './ranked-expansions.ts'
import { AllOfScorer, PAUSED, type Scorer } from './scorer.ts'
import {
  gatherStatistics,
  scoringTerms,
  Weights,
  type FieldTerm,
  type TermStatistics,
} from './statistics.ts'
import type { TermScorer } from './term-scorer.ts'
import { searchTerm } from './term-search.ts'
import { forEachBlock } from './term-set.ts'
import type { TopHits } from './top-hits.ts'

const DOCS_PER_VISIT = 1024
/**
 * A query with at most this many postings scores each, which is faster than pruning and counting.
 */
const SCORED_WHOLE_MAX = 1024
/** A filter's documents are gathered if the query may have more than one in this many documents. */
const FILTER_GATHER_RATIO = 32

/**
 * The documents that match: those of `query` that `filter` also accepts. The filter does not
 * change a score; without one every document is accepted.
 */
export interface MatchRequest {
  readonly query: EngineQuery
  readonly filter?: EngineQuery
  /** Documents with 0 < expiresAtMs <= nowMs are not found. */
  readonly nowMs: number
}

/** How the hits of a search score. */
export interface Scoring {
  /** The statistics of the whole table; undefined if these segments are the whole table. */
  readonly statistics: TermStatistics | undefined
  /** Whether the caller uses the scores. */
  readonly scores: boolean
}

const NO_EXPANSIONS: Expansions = new Map()

/** One query under fixed statistics, segment by segment. */
export class SegmentSearch {
  readonly #request: MatchRequest
  readonly #statistics: TermStatistics
  readonly #weights: Weights
  readonly #plan: MatchingPlan
  readonly #poll: Poll

  /** Begins a search. Without scores, an expansion is a set of documents. */
  static *begin(
    segments: readonly LiveSegment[],
    request: MatchRequest,
    { statistics, scores }: Scoring,
    poll = new Poll(),
  ): Sliced<SegmentSearch> {
    const { filter } = request
    const isRanked = scores && hasRanked(request.query)
    const given = isRanked ? statistics?.expansions : NO_EXPANSIONS
    const expansions = given ?? (yield* gatherExpansions(segments, request.query, poll))
    const query = rankExpansions(request.query, expansions)
    const needed = allTerms(filter === undefined ? [query] : [query, filter])
    const own = yield* gatherStatistics(segments, needed, poll)
    const all = withStatistics({ ...own, expansions }, statistics)
    return new SegmentSearch(isRanked ? { ...request, query } : request, all, poll)
  }

  private constructor(request: MatchRequest, statistics: TermStatistics, poll: Poll) {
    const { query, filter } = request
    this.#request = request
    this.#statistics = statistics
    this.#weights = new Weights(statistics)
    this.#poll = poll
    const plan = planMatching(query)
    this.#plan = filter === undefined ? plan : { ...plan, filters: [...plan.filters, filter] }
  }

  /** What the scores depend on. */
  get statistics(): TermStatistics {
    return this.#statistics
  }

  /** Fills `hits`, and returns the number of seen matches: all of them with `countsAll`. */
  *top(live: LiveSegment, hits: TopHits, countsAll: boolean): Sliced<number> {
    if (hits.bar === Infinity && !countsAll) return 0
    const { body, boost } = this.#plan
    if (body.kind === 'walk') return yield* this.#topByWalk(live, hits)
    const compiler = this.#compiler(live)
    const terms = yield* compiler.terms(body.terms, boost)
    const [first, ...others] = terms
    if (first === undefined) return 0
    if (body.kind === 'all-terms' && terms.length < body.terms.length) return 0
    if (this.#isCheaperByDocument(live, terms)) return yield* this.#topByWalk(live, hits)
    const conditions = this.#conditions()
    const isAll = acceptsAll(live, conditions)
    const accepted = isAll ? undefined : yield* acceptedDocuments(live, compiler, conditions)
    const bulk: BulkSearch = { hits, accepted, countsAll, poll: this.#poll }
    if (others.length === 0) return yield* this.#topOfTerm(live, first, bulk)
    return body.kind === 'all-terms'
      ? yield* searchConjunction([first, ...others], live.segment.docCount, bulk)
      : yield* this.#topOfAnyTerm(live, terms, bulk)
  }

  *#topOfTerm(live: LiveSegment, term: TermScorer, bulk: BulkSearch): Sliced<number> {
    const seen = bulk.hits.bar === Infinity ? 0 : yield* searchTerm(term, bulk)
    if (!bulk.countsAll) return seen
    return this.#acceptsLive(live)
      ? this.#liveCount(live)
      : yield* countTerm(term.cursor.source, { ...bulk, docCount: live.segment.docCount })
  }

  #acceptsLive(live: LiveSegment): boolean {
    return acceptsLive(live, this.#conditions())
  }

  /** The live documents of the only term of the plan that the segment has. */
  #liveCount(live: LiveSegment): number {
    const { body } = this.#plan
    const [found] = body.kind === 'walk' ? [] : this.#found(live, body.terms)
    return found?.liveDocFreq ?? 0
  }

  *#topOfAnyTerm(
    live: LiveSegment,
    terms: readonly TermScorer[],
    bulk: BulkSearch,
  ): Sliced<number> {
    const { docCount } = live.segment
    const postings = postingsOf(terms)
    if (postings <= SCORED_WHOLE_MAX) return scoreAnyTerm(terms, bulk)
    if (bulk.hits.bar < Infinity) yield* raiseFirstBar(terms, bulk)
    if (!bulk.countsAll) return yield* searchDisjunction(terms, docCount, bulk)
    if (bulk.hits.bar < Infinity) {
      yield* searchDisjunction(terms, docCount, { ...bulk, countsAll: false })
    }
    const { body } = this.#plan
    const counted = body.kind === 'walk' ? [] : this.#found(live, body.terms)
    return yield* countAnyTerm(counted, { ...bulk, docCount }, this.#acceptsLive(live))
  }

  #found(live: LiveSegment, terms: readonly FieldTerm[]): readonly SegmentTerm[] {
    return terms
      .map(({ field, term }) => live.term(field, term))
      .filter((term) => term !== undefined)
  }

  /** Filters are looked up for few documents rather than gathered for the whole segment. */
  #isCheaperByDocument(live: LiveSegment, terms: readonly TermScorer[]): boolean {
    if (this.#plan.filters.length === 0) return false
    return postingsOf(terms) * FILTER_GATHER_RATIO < live.segment.docCount
  }

  /** Visits every match in order of documents. */
  *walk(live: LiveSegment, visit: WalkVisitor): Sliced<void> {
    const compiler = this.#compiler(live)
    const { filters } = this.#plan
    const body = yield* compiler.compile(this.#bodyQuery())
    const isLookedUp = body.cost * FILTER_GATHER_RATIO < live.segment.docCount
    const conditions = this.#conditions(isLookedUp ? [] : filters)
    const isAll = acceptsAll(live, conditions)
    const accepted = isAll ? undefined : yield* acceptedDocuments(live, compiler, conditions)
    const lookedUp: Scorer[] = []
    if (isLookedUp) for (const query of filters) lookedUp.push(yield* compiler.compile(query))
    const scorer =
      lookedUp.length === 0 ? body : new AllOfScorer([body, ...lookedUp], [body], this.#poll)
    const step = { accepted, poll: this.#poll, visit }
    while (walkSome(scorer, step)) yield this.#poll.renewed()
  }

  /** Visits every match in order of documents, some at a time, in an array that is used again. */
  *collect(live: LiveSegment, visit: (docs: Uint32Array) => void): Sliced<void> {
    const docs = new Uint32Array(DOCS_PER_VISIT)
    let count = 0
    const take = (doc: number): void => {
      docs[count] = doc
      count += 1
      if (count < DOCS_PER_VISIT) return
      visit(docs)
      count = 0
    }
    const { body } = this.#plan
    const [only, ...others] = body.kind === 'walk' ? [] : body.terms
    if (only === undefined || others.length > 0) yield* this.walk(live, take)
    else yield* this.#collectTerm(live, only, take)
    if (count > 0) visit(docs.subarray(0, count))
  }

  *#collectTerm(
    live: LiveSegment,
    { field, term }: FieldTerm,
    take: (doc: number) => void,
  ): Sliced<void> {
    const found = live.term(field, term)
    if (found === undefined) return
    const conditions = this.#conditions()
    const accepted = acceptsAll(live, conditions)
      ? undefined
      : yield* acceptedDocuments(live, this.#compiler(live), conditions)
    yield* forEachBlock(found.source, this.#poll, (docs, count) => {
      for (let i = 0; i < count; i += 1) {
        const doc = u32At(docs, i)
        if (isAccepted(accepted, doc)) take(doc)
      }
    })
  }

  *#topByWalk(live: LiveSegment, hits: TopHits): Sliced<number> {
    let total = 0
    yield* this.walk(live, (doc, scorer) => {
      total += 1
      hits.offer(doc, scorer.score())
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

  #conditions(filters: readonly EngineQuery[] = this.#plan.filters): Conditions {
    return { filters, excluded: this.#plan.excluded, nowMs: this.#request.nowMs }
  }
}

/** Called for each match, with the scorer at the document. */
export type WalkVisitor = (doc: number, scorer: Scorer) => void

interface WalkStep {
  readonly accepted: Bitset | undefined
  readonly poll: Poll
  readonly visit: WalkVisitor
}

/**
 * Visits documents until a pause is due or none are left, and returns whether some may be left. It
 * is not a generator, because the compiler makes their loops slower.
 */
function walkSome(scorer: Scorer, { accepted, poll, visit }: WalkStep): boolean {
  for (let doc = scorer.next(); doc !== NO_MORE; doc = scorer.next()) {
    if (doc !== PAUSED && isAccepted(accepted, doc)) visit(doc, scorer)
    if (poll.spend(2)) return true
  }
  return false
}

function postingsOf(terms: readonly TermScorer[]): number {
  return terms.reduce((sum, { cost }) => sum + cost, 0)
}

/** The given statistics, completed by this index's own. */
function withStatistics(own: TermStatistics, given: TermStatistics | undefined): TermStatistics {
  if (given === undefined) return own
  return {
    expansions: given.expansions,
    fields: new Map([...own.fields, ...given.fields]),
    docFreqs: new Map([...own.docFreqs, ...given.docFreqs]),
  }
}

/**
 * The scoring terms with those of filters, whose scorers are built although no score of theirs is
 * used.
 */
function allTerms(queries: readonly EngineQuery[]): ReturnType<typeof scoringTerms> {
  return queries.flatMap((query) => [...scoringTerms(query), ...allTerms(unscoredParts(query))])
}

function unscoredParts(query: EngineQuery): readonly EngineQuery[] {
  if (query.kind === 'best') return query.parts.flatMap(unscoredParts)
  if (query.kind !== 'boolean') return []
  const inScored = [...query.must, ...query.should].flatMap(unscoredParts)
  return [...query.filter, ...query.mustNot, ...inScored]
}
