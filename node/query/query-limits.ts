// What a query may be at most. Larger ones are refused before anything is searched.

import { ServiceError } from '../../lib/errors.ts'

/** Levels of nesting, in JSON and again in a query string. */
export const QUERY_DEPTH_MAX = 20
/** Clauses in all, those in query strings included. */
export const QUERY_CLAUSES_MAX = 1024
export const QUERY_STRING_LENGTH_MAX = 10_000
export const QUERY_TEXT_LENGTH_MAX = 10_000
/** Of all texts, terms, patterns and query strings of a query together; ids are not counted. */
export const QUERY_TEXT_TOTAL_MAX = 200_000
/** Of all those texts once they are split, each occurrence counted. */
export const QUERY_TERMS_MAX = 8192
/** Of the programs of all regular expressions together. */
export const QUERY_PROGRAM_LENGTH_MAX = 50_000
/** Of a wildcard or a regular expression. */
export const QUERY_PATTERN_LENGTH_MAX = 1000
export const QUERY_IDS_MAX = 10_000
export const QUERY_SLOP_MAX = 1000
/** Boosts nested to all depths still multiply to a finite number. */
export const QUERY_BOOST_MAX = 10_000

/** What one query may still have. */
export interface ClauseBudget {
  clausesLeft: number
  charactersLeft: number
  programLengthLeft: number
}

export function buildClauseBudget(): ClauseBudget {
  return {
    clausesLeft: QUERY_CLAUSES_MAX,
    charactersLeft: QUERY_TEXT_TOTAL_MAX,
    programLengthLeft: QUERY_PROGRAM_LENGTH_MAX,
  }
}

/** Whether there was one left. */
export function takeClause(budget: ClauseBudget): boolean {
  budget.clausesLeft--
  return budget.clausesLeft >= 0
}

/** Refuses what has more text than all clauses of a query may have together. */
export function takeText(budget: ClauseBudget, length: number, where: string): void {
  budget.charactersLeft -= length
  if (budget.charactersLeft >= 0) return
  refuse(
    where,
    `all texts, terms and patterns of a query may have at most ${QUERY_TEXT_TOTAL_MAX} characters`,
  )
}

/** Whether all regular expressions of the query together are still short enough to run. */
export function takeProgram(budget: ClauseBudget, length: number): boolean {
  budget.programLengthLeft -= length
  return budget.programLengthLeft >= 0
}

export const PROGRAMS_TOO_LONG =
  'all regular expressions of a query together repeat too much or are too long; use fewer, smaller ' +
  'counts or prefixes'

/** `where` names the place in the request. */
export function refuse(where: string, problem: string): never {
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
