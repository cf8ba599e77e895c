// Searches for any of several terms begin with a low bar, and look at nearly all documents of a frequent term until the
// rarer ones have brought hits. But a document scores at least what one of its terms gives it: the best documents of a
// rarer term alone, which are found quickly, tell what a hit has at least.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { BulkSearch } from './bulk-search.ts'
import type { TermScorer } from './term-scorer.ts'
import { searchTerm } from './term-search.ts'

/** The rarer term has at most one in four of all postings. */
const RARER_SHARE = 4

/** The terms stay where they are. */
export function* raiseFirstBar(terms: readonly TermScorer[], search: BulkSearch): Sliced<void> {
  const { hits } = search
  const probe = hits.emptyForParts()
  if (probe === undefined) return
  const postings = terms.reduce((sum, { cost }) => sum + cost, 0)
  const rarer = terms
    .filter(({ cost }) => cost >= probe.limit && cost * RARER_SHARE <= postings)
    .toSorted((a, b) => a.cost - b.cost)[0]
  if (rarer === undefined) return
  yield* searchTerm(rarer.again(), { ...search, hits: probe })
  if (probe.length === probe.limit) hits.expect(probe.scores[0] ?? 0)
}
