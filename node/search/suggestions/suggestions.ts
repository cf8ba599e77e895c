// What a query may have meant: the shards name close words, and then count them, so that every
// frequency is that of the whole table.

import { TEXT_INDEX } from '../../index/kinds/text-descriptor.ts'
import type { FieldTerm, TermStatistics } from '../../index/text/matching/statistics.ts'
import { fieldOfTermKey } from '../../index/text/encoding/term-key.ts'
import { ALL_FIELD } from '../../index/text/mapping/field-names.ts'
import type { TextConditions } from '../../index/text/search/text-search.ts'
import type { Query } from '../../query/query-tree.ts'
import {
  chooseSuggestions,
  mergeWords,
  termsOf,
  type SuggestionRules,
} from './choose-suggestions.ts'
import { tableStatistics } from '../hits/text-searcher.ts'
import type { QuerySuggestion } from '../run/query-result.ts'
import type { QueryRun } from '../run/query-run.ts'
import type { ShardFanOut } from '../run/shard-fan-out.ts'
import type { QueriedShard } from '../tables/queried-table.ts'

/** A query of a full-text index, and what of it is corrected. */
export interface SuggestedQuery extends SuggestionRules {
  readonly index: string
  readonly conditions: TextConditions
}

/** Empty if no word of the query looks mistyped. */
export async function suggestFor(
  run: QueryRun,
  { index, conditions, ...rules }: SuggestedQuery,
  fanOut: ShardFanOut<QueriedShard>,
): Promise<readonly QuerySuggestion[]> {
  const { query } = conditions
  if (query === undefined) return []
  const asked = { kind: TEXT_INDEX.kind, question: 'suggest', request: { query } } as const
  const answers = await fanOut.askAll((shard) => run.ask(shard, index, asked))
  const words = await run.sliced(mergeWords(answers))
  if (words.length === 0) return []
  const counted = { index, conditions: { ...conditions, query: anyTerm(termsOf(words)) } }
  return chooseSuggestions(words, await tableStatistics(run, counted, fanOut), rules)
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
