// A query of the benchmark as the body of a request to our API.

import { unreachable } from '../../lib/assert.ts'
import { HITS } from './query-classes.ts'
import type { ArticleFilter, TextQuery, WordsQuery } from './query-classes.ts'

export const AGGREGATION = 'categories'

/** `fields` is what the hits carry besides their keys: over HTTP a page of titles, say. */
export function buildRequestBody(query: TextQuery, fields?: readonly string[]): string {
  return JSON.stringify({
    full_text_search: searchOf(query.words),
    ...(query.filter === undefined ? {} : { filter_query: filterOf(query.filter) }),
    ...outcomeOf(query),
    ...(fields === undefined ? {} : { fields }),
  })
}

function searchOf(words: WordsQuery): object {
  switch (words.kind) {
    case 'and':
    case 'or':
      return { match: words.words.join(' '), field: 'body', operator: words.kind }
    case 'phrase':
      return { match_phrase: words.words.join(' '), field: 'body' }
    case 'prefix':
      return { prefix: words.prefix, field: 'body' }
    default:
      return unreachable(words)
  }
}

function filterOf(filter: ArticleFilter): object {
  if (filter.kind === 'category') return { term: filter.category, field: 'category' }
  const { min, max } = filter
  return { min, max, field: 'price' }
}

function outcomeOf({ outcome }: TextQuery): object {
  switch (outcome) {
    case 'by-score':
      return { limit: HITS }
    case 'by-price':
      return { limit: HITS, order_by: [{ field: 'price' }] }
    case 'categories': {
      const categories = { type: 'terms', field: 'category', size: HITS }
      return { limit: 0, aggregations: { [AGGREGATION]: categories } }
    }
    default:
      return unreachable(outcome)
  }
}
