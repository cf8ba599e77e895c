// Expands fuzzy phrases into terms of this shard's index: a position with a matcher gets the
// matching terms. Scores depend on terms, so this runs before statistics and search.

import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { EngineQuery, PhrasePosition } from '../engine-query.ts'
import type { SearchSnapshot } from '../engine/search-snapshot.ts'

/** The limit of terms of all fuzzy phrases in a query, because each term is walked by itself. */
const PHRASE_TERMS_MAX = 16_384

export function expandPhrases(query: EngineQuery, index: SearchSnapshot): Sliced<EngineQuery> {
  return new PhraseExpansion(index).expand(query)
}

/** Most queries have no fuzzy phrase and are used unchanged. */
export function hasFuzzyPhrase(query: EngineQuery): boolean {
  if (query.kind === 'phrase') return query.positions.some(({ more }) => more !== undefined)
  if (query.kind === 'best') return query.parts.some(hasFuzzyPhrase)
  if (query.kind !== 'boolean') return false
  return [query.must, query.should, query.mustNot, query.filter].some((parts) => {
    return parts.some(hasFuzzyPhrase)
  })
}

class PhraseExpansion {
  readonly #index: SearchSnapshot
  #termsLeft = PHRASE_TERMS_MAX

  constructor(index: SearchSnapshot) {
    this.#index = index
  }

  *expand(query: EngineQuery): Sliced<EngineQuery> {
    if (query.kind === 'phrase') return yield* this.#phrase(query)
    if (query.kind === 'best') return { ...query, parts: yield* this.#all(query.parts) }
    if (query.kind !== 'boolean') return query
    return {
      ...query,
      must: yield* this.#all(query.must),
      should: yield* this.#all(query.should),
      mustNot: yield* this.#all(query.mustNot),
      filter: yield* this.#all(query.filter),
    }
  }

  *#all(queries: readonly EngineQuery[]): Sliced<readonly EngineQuery[]> {
    const expanded: EngineQuery[] = []
    for (const query of queries) expanded.push(yield* this.expand(query))
    return expanded
  }

  *#phrase(query: Extract<EngineQuery, { kind: 'phrase' }>): Sliced<EngineQuery> {
    const { field } = query
    const positions: PhrasePosition[] = []
    for (const position of query.positions) {
      const { offset, terms, more } = position
      if (more === undefined) {
        positions.push(position)
        continue
      }
      const found = yield* this.#index.matchingTerms({ field, ...more })
      this.#termsLeft -= found.size
      if (this.#termsLeft < 0) throw tooManyTerms(field)
      positions.push({ offset, terms: [...terms, ...found] })
    }
    return { ...query, positions }
  }
}

function tooManyTerms(field: string): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `the fuzzy phrases of the query match more than ${PHRASE_TERMS_MAX} terms in field ${field} ` +
      'and other fields; use fewer words or less fuzziness',
  )
}
