// What a query may have meant: the shards name close words, and then count them, so that every
// frequency is that of the whole table.

import type { Sliced } from '../../../lib/sliced.ts'
import type { FieldTerm, TermStatistics } from '../../index/text/matching/statistics.ts'
import { fieldOfTermKey } from '../../index/text/encoding/term-key.ts'
import { ALL_FIELD } from '../../index/text/mapping/field-names.ts'
import type { SuggestRequest, WordInField } from '../../index/text/suggest/suggest-words.ts'
import type { Query } from '../../query/query-tree.ts'
import {
  chooseSuggestions,
  mergeWords,
  termsOf,
  type SuggestionRules,
} from './choose-suggestions.ts'
import type { QuerySuggestion } from '../run/query-result.ts'

/** How to ask all shards of a table. */
export interface SuggestionSources {
  words(request: SuggestRequest): Promise<readonly (readonly WordInField[])[]>
  /** The statistics of the table that the scores of this query depend on. */
  statistics(query: Query): Promise<TermStatistics>
  sliced<Result>(work: Sliced<Result>): Promise<Result>
}

/** A query, and what is suggested for it. */
export interface SuggestedQuery extends SuggestionRules {
  readonly query: Query | undefined
}

/** Empty if no word of the query looks mistyped. */
export async function suggestFor(
  { query, queryString, isOnlyUnknown }: SuggestedQuery,
  sources: SuggestionSources,
): Promise<readonly QuerySuggestion[]> {
  if (query === undefined) return []
  const words = await sources.sliced(mergeWords(await sources.words({ query })))
  if (words.length === 0) return []
  const counts = await sources.statistics(anyTerm(termsOf(words)))
  return chooseSuggestions(words, counts, { queryString, isOnlyUnknown })
}

/**
 * Whether a word of a typed text may be in no document: a look at what is known, so that texts without such words
 * cost nothing more. Only a search of all text tells it.
 */
export function mayHaveUnknownWord(
  query: Query | undefined,
  statistics: Pick<TermStatistics, 'docFreqs'> | undefined,
): boolean {
  const isOfAllText = query?.kind === 'simple' && query.fields === undefined
  if (!isOfAllText || statistics === undefined) return true
  for (const [key, count] of statistics.docFreqs) {
    if (count === 0 && fieldOfTermKey(key) === ALL_FIELD) return true
  }
  return false
}

function anyTerm(terms: readonly FieldTerm[]): Query {
  const should = terms.map(({ field, term }): Query => ({ kind: 'term', field, term, boost: 1 }))
  return { kind: 'boolean', must: [], should, minShould: 1, mustNot: [], filter: [], boost: 1 }
}
