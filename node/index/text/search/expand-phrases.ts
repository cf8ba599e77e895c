// Fuzzy phrases in terms of the index at hand: a position that is given by a matcher gets the terms
// that match. Scores depend on terms, so that this comes before statistics and search.

import type { EngineQuery, PhrasePosition } from '../engine-query.ts'
import type { Interrupt } from '../engine/poll.ts'
import type { TextIndex } from '../engine/text-index.ts'

export function expandPhrases(
  query: EngineQuery,
  index: TextIndex,
  interrupt: Interrupt,
): EngineQuery {
  const expand = (part: EngineQuery): EngineQuery => expandPhrases(part, index, interrupt)
  if (query.kind === 'best') return { ...query, parts: query.parts.map(expand) }
  if (query.kind === 'boolean') {
    return {
      ...query,
      must: query.must.map(expand),
      should: query.should.map(expand),
      mustNot: query.mustNot.map(expand),
      filter: query.filter.map(expand),
    }
  }
  if (query.kind !== 'phrase') return query
  const { field } = query
  const positions = query.positions.map((position): PhrasePosition => {
    const { offset, terms, more } = position
    if (more === undefined) return position
    const found = index.matchingTerms({ field, ...more }, interrupt)
    return { offset, terms: [...terms, ...found] }
  })
  return { ...query, positions }
}
