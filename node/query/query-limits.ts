// What a query may be at most. Larger ones are refused before anything is searched.

import { ServiceError } from '../../lib/errors.ts'

/** Levels of nesting, in JSON and again in a query string. */
export const QUERY_DEPTH_MAX = 20
/** Clauses in all, those in query strings included. */
export const QUERY_CLAUSES_MAX = 1024
export const QUERY_STRING_LENGTH_MAX = 10_000
export const QUERY_TEXT_LENGTH_MAX = 10_000
/** Of a wildcard or a regular expression. */
export const QUERY_PATTERN_LENGTH_MAX = 1000
export const QUERY_IDS_MAX = 10_000
export const QUERY_SLOP_MAX = 1000
/** Boosts nested to all depths still multiply to a finite number. */
export const QUERY_BOOST_MAX = 10_000

/** How many more clauses one query may have. */
export interface ClauseBudget {
  clausesLeft: number
}

export function buildClauseBudget(): ClauseBudget {
  return { clausesLeft: QUERY_CLAUSES_MAX }
}

/** Whether there was one left. */
export function takeClause(budget: ClauseBudget): boolean {
  budget.clausesLeft--
  return budget.clausesLeft >= 0
}

/** `where` names the place in the request. */
export function refuse(where: string, problem: string): never {
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
