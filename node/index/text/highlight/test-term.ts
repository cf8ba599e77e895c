import type { Sliced } from '../../../../lib/sliced.ts'
import { compareTexts } from '../encoding/compare-texts.ts'
import type { TermMatcher } from '../engine-query.ts'
import type { Poll } from '../poll.ts'

/** The cost of a cheap test, in postings read. */
const TEST_COST = 16

/** Whether the matcher selects the term. It pauses when the poll is due. */
export function* testTerm(matcher: TermMatcher, term: string, poll: Poll): Sliced<boolean> {
  const { prefix, upTo } = matcher
  const isNear = term.startsWith(prefix) && (upTo === undefined || compareTexts(term, upTo) <= 0)
  const before = matcher.spent?.() ?? 0
  const test = isNear ? matcher.matchesSliced?.(term) : undefined
  const found = test === undefined ? isNear && matcher.matches(term) : yield* test
  const spent = (matcher.spent?.() ?? 0) - before
  if (poll.spend(TEST_COST + spent)) yield poll.renewed()
  return found
}
