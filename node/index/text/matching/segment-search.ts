// One query under fixed statistics, in one segment after the other: which loop finds its best hits,
// and how they are counted.

import type { EngineQuery } from '../engine-query.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import { intersect, newBitset, subtract, type Bitset } from '../engine/bitset.ts'
import { isAccepted, u32At, type BulkSearch } from './bulk-search.ts'
import { searchConjunction } from './conjunction.ts'
import { scoreAnyTerm, searchDisjunction } from './disjunction.ts'
import type { LiveSegment, SegmentTerm } from '../engine/live-segment.ts'
import { countAnyTerm, countTerm, forEachBlock } from './match-count.ts'
import { Poll, type Interrupt } from '../engine/poll.ts'
import { QueryCompiler } from './query-compiler.ts'
import { planQuery, type QueryPlan } from './query-plan.ts'
import { AllOfScorer } from './scorer.ts'
import { matchingTerms } from './set-query.ts'
import {
  gatherStatistics,
  scoringTerms,
  Weights,
  type FieldTerm,
  type TermStatistics,
} from './statistics.ts'
import type { TermScorer } from './term-scorer.ts'
import { searchTerm } from './term-search.ts'
import type { TopHits } from './top-hits.ts'

const DOCS_PER_VISIT = 1024
/** As few postings are scored one by one sooner than searched for the best and counted apart. */
const SCORED_WHOLE_MAX = 1024
/** A filter's documents are gathered if the query may have more than one in this many documents. */
const FILTER_GATHER_RATIO = 32

export interface MatchRequest {
  readonly query: EngineQuery
  readonly filter?: EngineQuery
  /** Documents with 0 < expiresAtMs <= nowMs are not found. */
  readonly nowMs: number
  readonly interrupt: Interrupt
}

/** One query under fixed statistics, segment by segment. */
export class SegmentSearch {
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
    if (this.#isCheaperByDocument(live, terms)) return this.#topByWalk(live, hits)
    const accepted = this.#accepted(live, compiler)
    const bulk: BulkSearch = { hits, accepted, countsAll, poll: this.#poll }
    if (others.length === 0) return this.#topOfTerm(live, first, bulk)
    return body.kind === 'all-terms'
      ? searchConjunction([first, ...others], bulk)
      : this.#topOfAnyTerm(live, terms, bulk)
  }

  #topOfTerm(live: LiveSegment, term: TermScorer, bulk: BulkSearch): number {
    const seen = bulk.hits.bar === Infinity ? 0 : searchTerm(term, bulk)
    if (!bulk.countsAll) return seen
    return this.#acceptsLive(live)
      ? this.#liveCount(live)
      : countTerm(term.cursor.source, { ...bulk, docCount: live.segment.docCount })
  }

  /** Whether every document that is not deleted is accepted. */
  #acceptsLive(live: LiveSegment): boolean {
    const { filters, excluded } = this.#plan
    const hasConditions = filters.length > 0 || excluded.length > 0
    return !hasConditions && live.expiredAt(this.#request.nowMs) === undefined
  }

  /** Of the plan's only term that the segment has. */
  #liveCount(live: LiveSegment): number {
    const { body } = this.#plan
    const [found] = body.kind === 'walk' ? [] : this.#found(live, body.terms)
    return found?.liveDocFreq ?? 0
  }

  #topOfAnyTerm(live: LiveSegment, terms: readonly TermScorer[], bulk: BulkSearch): number {
    const { docCount } = live.segment
    const postings = postingsOf(terms)
    if (postings <= SCORED_WHOLE_MAX) return scoreAnyTerm(terms, bulk)
    if (!bulk.countsAll) return searchDisjunction(terms, docCount, bulk)
    if (bulk.hits.bar < Infinity) searchDisjunction(terms, docCount, { ...bulk, countsAll: false })
    const { body } = this.#plan
    const counted = body.kind === 'walk' ? [] : this.#found(live, body.terms)
    return countAnyTerm(counted, { ...bulk, docCount }, this.#acceptsLive(live))
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
  walk(live: LiveSegment, visit: (doc: number, score: () => number) => void): void {
    const compiler = this.#compiler(live)
    const { filters } = this.#plan
    const body = compiler.compile(this.#bodyQuery())
    const isLookedUp = body.cost * FILTER_GATHER_RATIO < live.segment.docCount
    const accepted = this.#accepted(live, compiler, isLookedUp ? [] : filters)
    const lookedUp = isLookedUp ? filters.map((query) => compiler.compile(query)) : []
    const scorer =
      lookedUp.length === 0 ? body : new AllOfScorer([body, ...lookedUp], [body], this.#poll)
    const score = (): number => scorer.score()
    for (let doc = scorer.next(); doc !== NO_MORE; doc = scorer.next()) {
      this.#poll.spend(2)
      if (isAccepted(accepted, doc)) visit(doc, score)
    }
  }

  /** Every match in order of documents, some at a time, in an array that is used again. */
  collect(live: LiveSegment, visit: (docs: Uint32Array) => void): void {
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
    if (only === undefined || others.length > 0) this.walk(live, take)
    else this.#collectTerm(live, only, take)
    if (count > 0) visit(docs.subarray(0, count))
  }

  #collectTerm(live: LiveSegment, { field, term }: FieldTerm, take: (doc: number) => void): void {
    const found = live.term(field, term)
    if (found === undefined) return
    const accepted = this.#accepted(live, this.#compiler(live))
    forEachBlock(found.source, this.#poll, (docs, count) => {
      for (let i = 0; i < count; i += 1) {
        const doc = u32At(docs, i)
        if (isAccepted(accepted, doc)) take(doc)
      }
    })
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
  #accepted(
    live: LiveSegment,
    compiler: QueryCompiler,
    filters: readonly EngineQuery[] = this.#plan.filters,
  ): Bitset | undefined {
    const { excluded } = this.#plan
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

function postingsOf(terms: readonly TermScorer[]): number {
  return terms.reduce((sum, { cost }) => sum + cost, 0)
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
  if (query.kind === 'expand' && query.termsMax < Infinity) {
    const parts = segments.map(({ segment }) => segment)
    matchingTerms(parts, query, poll)
  }
  if (query.kind === 'best') for (const part of query.parts) checkExpansions(part, segments, poll)
  if (query.kind !== 'boolean') return
  for (const part of [...query.must, ...query.should, ...query.mustNot, ...query.filter]) {
    checkExpansions(part, segments, poll)
  }
}
