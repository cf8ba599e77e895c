// Fuzzy words, prefixes and wildcards in queries with scores. The closest terms score like words of
// their own, each by its closeness. All of them count as rare as the most frequent one, so that a
// rare typo does not rank before the word itself. All other terms have the same low score.
//
// Invariants:
//   RE1  The closest terms depend only on the set of terms that live documents have. They depend
//        neither on frequencies nor on the division into segments and shards: each shard names
//        those of the table's closest terms that it has.

import type { Sliced } from '../../../../lib/sliced.ts'
import { RANKED_TERMS_MAX, type EngineQuery, type TermRanking } from '../engine-query.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import type { Poll } from '../poll.ts'
import { compareTexts } from '../encoding/compare-texts.ts'
import { termKey } from '../encoding/term-key.ts'
import type { EngineQueryOf } from '../engine-query.ts'
import { TermWalk } from './term-walk.ts'

/** The most ranked terms of all expansions of a query, because each has a cursor of its own. */
const QUERY_RANKED_TERMS_MAX = 1024
/** An expansion of more terms in one shard is walked as one set: looking at each takes too long. */
const MATCHING_TERMS_MAX = 65_536
/** The score of documents with other terms, as a share of the boost. */
const REST_SHARE = 0.1
/** The cost of looking up how many live documents have a term. */
const LOOKUP_COST = 256

/**
 * The closest terms in no order, one more than may score; or a mark that the shard has too many.
 */
export type ClosestTerms = readonly string[] | 'too-many'
/** The closest terms of each expansion, by `expansionKey`. */
export type Expansions = ReadonlyMap<string, ClosestTerms>

interface RankedExpansion extends EngineQueryOf<'expand'> {
  readonly ranking: TermRanking
}

function expansionKey({ field, ranking }: RankedExpansion): string {
  return termKey(field, ranking.name)
}

/** Merges the expansions of several shards. Too many terms in one shard are too many in all. */
export function mergeExpansions(all: readonly Expansions[]): Expansions {
  const merged = new Map<string, Set<string>>()
  const tooMany = new Set<string>()
  for (const [key, terms] of all.flatMap((part) => [...part])) {
    if (terms === 'too-many') tooMany.add(key)
    else merged.set(key, addAll(merged.get(key) ?? new Set(), terms))
  }
  const closest = [...merged].map(([key, terms]) => [key, [...terms]] as const)
  return new Map<string, ClosestTerms>([
    ...closest,
    ...[...tooMany].map((key) => [key, 'too-many'] as const),
  ])
}

function addAll(known: Set<string>, terms: readonly string[]): Set<string> {
  for (const term of terms) known.add(term)
  return known
}

/** Gathers this index's closest terms for the expansions that score. */
export function* gatherExpansions(
  segments: readonly LiveSegment[],
  query: EngineQuery,
  poll: Poll,
): Sliced<Expansions> {
  const expansions = new Map<string, RankedExpansion>()
  for (const one of rankedIn(query)) expansions.set(expansionKey(one), one)
  const gathered = new Map<string, ClosestTerms>()
  for (const [key, expansion] of expansions) {
    const count = 1 + termsMaxOf(expansion.ranking, expansions.size)
    gathered.set(key, yield* closestTerms(segments, { expansion, count }, poll))
  }
  return gathered
}

/** The query with the closest terms in place of the expansions that score. */
export function rankExpansions(query: EngineQuery, expansions: Expansions): EngineQuery {
  if (expansions.size === 0) return query
  if (isRanked(query)) {
    const alternatives = alternativesOf(query, expansions)
    if (query.scoredIn === undefined) return combined(alternatives)
    // The words of a text add up; for a name, the closest of them says how near it is.
    return { kind: 'best', parts: alternatives, boost: 1 }
  }
  if (query.kind === 'best') {
    return { ...query, parts: query.parts.map((part) => rankExpansions(part, expansions)) }
  }
  if (query.kind !== 'boolean') return query
  const { must, should, minShould } = query
  // Where one match is enough, the terms become alternatives of the query, which is faster.
  const isFlat = minShould <= 1
  return {
    ...query,
    must: must.map((part) => rankExpansions(part, expansions)),
    should: should.flatMap((part) => {
      return isFlat && isRanked(part) && part.scoredIn === undefined
        ? alternativesOf(part, expansions)
        : [rankExpansions(part, expansions)]
    }),
  }
}

function isRanked(query: EngineQuery): query is RankedExpansion {
  return query.kind === 'expand' && query.ranking !== undefined
}

/** Whether a query has expansions that score. Most have none, and skip the gathering. */
export function hasRanked(query: EngineQuery): boolean {
  if (query.kind === 'best') return query.parts.some(hasRanked)
  if (query.kind === 'boolean') return query.must.some(hasRanked) || query.should.some(hasRanked)
  return isRanked(query)
}

function rankedIn(query: EngineQuery): readonly RankedExpansion[] {
  if (isRanked(query)) return [query]
  if (query.kind === 'best') return query.parts.flatMap(rankedIn)
  return query.kind === 'boolean' ? [...query.must, ...query.should].flatMap(rankedIn) : []
}

function termsMaxOf({ termsMax }: TermRanking, expansionCount: number): number {
  const share = Math.floor(QUERY_RANKED_TERMS_MAX / expansionCount)
  return Math.max(1, Math.min(termsMax, RANKED_TERMS_MAX, share))
}

function alternativesOf(query: RankedExpansion, expansions: Expansions): readonly EngineQuery[] {
  const found = expansions.get(expansionKey(query)) ?? []
  if (found === 'too-many' || found.length === 0) return [withoutRanking(query, query.boost)]
  const { field, ranking, boost, scoredIn = field, shapedIn } = query
  const count = termsMaxOf(ranking, expansions.size)
  const ranked = found
    .map((term): CloseTerm => ({ term, closeness: ranking.closeness(term) }))
    .toSorted(compareClose)
  const alike = { field, terms: ranked.slice(0, count).map(({ term }) => term) }
  const terms = ranked.slice(0, count).map(({ term, closeness }): EngineQuery => {
    const shaped = shapedIn === undefined ? {} : { shapedIn }
    return { kind: 'term', field: scoredIn, term, boost: boost * closeness, alike, ...shaped }
  })
  if (ranked.length <= count) return terms
  return [...terms, withoutRanking(query, boost * REST_SHARE)]
}

function withoutRanking({ field, matcher, scoredIn }: RankedExpansion, boost: number): EngineQuery {
  if (scoredIn !== undefined) return { kind: 'none' }
  return { kind: 'expand', field, matcher, boost }
}

function combined(should: readonly EngineQuery[]): EngineQuery {
  const [only, ...others] = should
  if (only !== undefined && others.length === 0) return only
  return { kind: 'boolean', must: [], should, minShould: 1, mustNot: [], filter: [], boost: 1 }
}

interface CloseTerm {
  readonly term: string
  readonly closeness: number
}

/** Negative if `a` is the better one. */
function compareClose(a: CloseTerm, b: CloseTerm): number {
  return b.closeness - a.closeness || compareTexts(a.term, b.term)
}

function* closestTerms(
  segments: readonly LiveSegment[],
  { expansion, count }: { readonly expansion: RankedExpansion; readonly count: number },
  poll: Poll,
): Sliced<ClosestTerms> {
  const { field: name, matcher, ranking } = expansion
  const closest = new ClosestList(count)
  let matching = 0
  for (const live of segments) {
    const field = live.segment.field(name)
    if (field === undefined) continue
    yield* field.prepareTerms()
    const walk = new TermWalk(field, matcher, poll)
    for (let entry = walk.next(); entry !== 'end'; entry = walk.next()) {
      if (entry === 'pause') {
        yield poll.renewed()
        continue
      }
      matching += 1
      if (matching > MATCHING_TERMS_MAX) return 'too-many'
      const close = { term: entry.text, closeness: ranking.closeness(entry.text) }
      if (!closest.hasRoomFor(close)) continue
      // A term of deleted documents stays in the dictionary until they are merged away.
      poll.spend(LOOKUP_COST)
      const isLive = live.log.length === 0 || (live.term(name, entry.text)?.liveDocFreq ?? 0) > 0
      if (isLive) closest.add(close)
    }
  }
  return closest.terms
}

/** The best few, in their order. */
class ClosestList {
  readonly #count: number
  #list: CloseTerm[] = []

  constructor(count: number) {
    this.#count = count
  }

  get terms(): readonly string[] {
    return this.#list.map(({ term }) => term)
  }

  /** Whether a term may enter; false for a term that the list has already. */
  hasRoomFor(close: CloseTerm): boolean {
    const worst = this.#list.length < this.#count ? undefined : this.#list.at(-1)
    if (worst !== undefined && compareClose(close, worst) >= 0) return false
    return this.#list.every(({ term }) => term !== close.term)
  }

  add(close: CloseTerm): void {
    const at = this.#list.findLastIndex((one) => compareClose(one, close) < 0) + 1
    this.#list.splice(at, 0, close)
    if (this.#list.length > this.#count) this.#list.pop()
  }
}
