// The terms by which a document matches, by index field. Terms of exclusions are not among them.

import { isServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { EngineQuery, TermMatcher } from '../engine-query.ts'
import type { Poll } from '../poll.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import { resolveQuery } from '../mapping/resolve-query.ts'
import { testTerm } from './test-term.ts'
import { WantedPhrases } from './wanted-phrases.ts'

/** The limit of cached terms in a field. Beyond it the cache is emptied. */
const REMEMBERED_MAX = 50_000

export type WantedTerms = ReadonlyMap<string, WantedInField>

/** The terms and phrases to highlight in one field. Each distinct term is tested once. */
export class WantedInField {
  readonly phrases = new WantedPhrases()
  readonly #exact = new Set<string>()
  readonly #matchers: TermMatcher[] = []
  #known = new Map<string, boolean>()

  addTerm(term: string): void {
    this.#exact.add(term)
  }

  addMatcher(matcher: TermMatcher): void {
    this.#matchers.push(matcher)
  }

  /** Whether the term matches; undefined if only `test` can decide. */
  knows(term: string): boolean | undefined {
    if (this.#exact.has(term)) return true
    return this.#matchers.length === 0 ? false : this.#known.get(term)
  }

  *test(term: string, poll: Poll): Sliced<boolean> {
    let isWanted = false
    for (const matcher of this.#matchers) {
      isWanted = yield* testTerm(matcher, term, poll)
      if (isWanted) break
    }
    if (this.#known.size >= REMEMBERED_MAX) this.#known = new Map()
    this.#known.set(term, isWanted)
    return isWanted
  }
}

export function* wantedTerms(query: Query, mapping: FieldMapping): Sliced<WantedTerms> {
  const wanted = new Map<string, WantedInField>()
  const inField = (field: string): WantedInField => {
    const known = wanted.get(field) ?? new WantedInField()
    wanted.set(field, known)
    return known
  }
  for (const part of leavesOf(query)) {
    addTerms(yield* resolvedOrNothing(part, mapping), inField)
    yield
  }
  return wanted
}

function leavesOf(query: Query): readonly Query[] {
  if (query.kind !== 'boolean') return [query]
  return [...query.must, ...query.should, ...query.filter].flatMap(leavesOf)
}

/**
 * Resolves a query, or nothing if it does not fit. A field may have another type in this document
 * than in the index.
 */
function* resolvedOrNothing(query: Query, mapping: FieldMapping): Sliced<EngineQuery> {
  try {
    const resolved = yield* resolveQuery(query, mapping)
    return resolved.query
  } catch (error) {
    if (isServiceError(error) && error.code === 'INVALID_ARGUMENT') return { kind: 'none' }
    throw error
  }
}

function addTerms(query: EngineQuery, inField: (field: string) => WantedInField): void {
  if (query.kind === 'term') inField(query.field).addTerm(query.term)
  if (query.kind === 'expand') inField(query.field).addMatcher(query.matcher)
  if (query.kind === 'phrase') inField(query.field).phrases.add(query)
  // A match of several words, or fields of which one is enough.
  const parts = query.kind === 'boolean' ? [...query.must, ...query.should] : []
  for (const part of query.kind === 'best' ? query.parts : parts) addTerms(part, inField)
}
