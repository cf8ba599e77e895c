// Which loop runs a query: the bulk loops for terms alone, and the walk of scorers for the rest.
// Filters and exclusions at the top become part of the set of accepted documents.

import type { EngineQuery } from '../engine-query.ts'
import { neededShould } from './matching-set.ts'

type TermQuery = Extract<EngineQuery, { kind: 'term' }>

/**
 * The parts of a query: a match meets the body and all `filters`, and none of `excluded`. `boost`
 * multiplies the score of the body.
 */
export interface MatchingPlan {
  readonly filters: readonly EngineQuery[]
  readonly excluded: readonly EngineQuery[]
  readonly boost: number
  readonly body:
    | { readonly kind: 'any-term'; readonly terms: readonly TermQuery[] }
    | { readonly kind: 'all-terms'; readonly terms: readonly TermQuery[] }
    | { readonly kind: 'walk'; readonly query: EngineQuery }
}

/**
 * A query of more terms is walked, because each term costs the bulk loop a look at every window.
 */
const BULK_TERMS_MAX = 64

export function planMatching(query: EngineQuery): MatchingPlan {
  if (query.kind === 'term') {
    const body = { kind: 'any-term', terms: [query] } as const
    return { filters: [], excluded: [], boost: 1, body }
  }
  if (query.kind === 'boolean') {
    const { filter, mustNot, boost, must, should } = query
    const terms = [...must, ...should].filter((part) => part.kind === 'term')
    const isTermsOnly = terms.length === must.length + should.length
    const isBulk = isTermsOnly && terms.length > 0 && terms.length <= BULK_TERMS_MAX
    const bounds = { filters: filter, excluded: mustNot, boost }
    if (isBulk && must.length === 0 && neededShould(query) === 1) {
      return { ...bounds, body: { kind: 'any-term', terms } }
    }
    if (isBulk && should.length === 0 && query.minShould <= 0) {
      return { ...bounds, body: { kind: 'all-terms', terms } }
    }
  }
  return { filters: [], excluded: [], boost: 1, body: { kind: 'walk', query } }
}
