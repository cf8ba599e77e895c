import { takeText, type ClauseBudget } from '../query-limits.ts'
import type { Query } from '../query-tree.ts'

/**
 * Takes the text of a clause from the budget. The parts of a boolean query have been counted
 * before.
 */
export function takeTextOf(query: Query, budget: ClauseBudget, where: string): void {
  takeText(budget, lengthOfText(query), where)
}

function lengthOfText(query: Query): number {
  if ('text' in query) return query.text.length
  if ('term' in query) return query.term.length
  if ('prefix' in query) return query.prefix.length
  if ('pattern' in query) return query.pattern.length
  if (query.kind !== 'phrase-terms') return 0
  return query.positions.flat().reduce((sum, term) => sum + term.length, 0)
}
