// The limits of a query. A larger query is refused before the search begins.

import { ServiceError } from '../../lib/errors.ts'

/** Limits `limit`, and `offset` with it, because every shard must rank that many hits. */
export const QUERY_LIMIT_MAX = 10_000
/** The limit of nesting levels, in JSON and again in a query string. */
export const QUERY_DEPTH_MAX = 20
/** The limit of clauses, with those of query strings included. */
export const QUERY_CLAUSES_MAX = 1024
export const QUERY_STRING_LENGTH_MAX = 10_000
export const QUERY_TEXT_LENGTH_MAX = 10_000
/**
 * The limit of all texts, terms, patterns and query strings together, in characters. Ids do not
 * count.
 */
export const QUERY_TEXT_TOTAL_MAX = 200_000
/** The limit of terms after analysis. Each occurrence counts. */
export const QUERY_TERMS_MAX = 8192
/** The limit of the programs of all regular expressions together, in instructions. */
const QUERY_PROGRAM_LENGTH_MAX = 50_000
/** The limit of one wildcard or regular expression, in characters. */
export const QUERY_PATTERN_LENGTH_MAX = 1000
export const QUERY_IDS_MAX = 10_000
/** The limit of values of all lists of values together, and of their characters. They count neither as clauses nor as text. */
export const QUERY_VALUES_MAX = 65_536
const QUERY_VALUES_LENGTH_MAX = 4 * 1024 * 1024
export const QUERY_SLOP_MAX = 1000
/** Boosts of this size, nested to all depths, still multiply to a finite number. */
export const QUERY_BOOST_MAX = 10_000

/** The rest of the limits while one query is parsed. */
export interface ClauseBudget {
  clausesLeft: number
  charactersLeft: number
  programLengthLeft: number
  valuesLeft: number
  valueCharactersLeft: number
}

export function buildClauseBudget(): ClauseBudget {
  return {
    clausesLeft: QUERY_CLAUSES_MAX,
    charactersLeft: QUERY_TEXT_TOTAL_MAX,
    programLengthLeft: QUERY_PROGRAM_LENGTH_MAX,
    valuesLeft: QUERY_VALUES_MAX,
    valueCharactersLeft: QUERY_VALUES_LENGTH_MAX,
  }
}

/** Takes one clause. False means that none was left. */
export function takeClause(budget: ClauseBudget): boolean {
  budget.clausesLeft--
  return budget.clausesLeft >= 0
}

/** Takes `length` characters. Throws INVALID_ARGUMENT if the query has more text than allowed. */
export function takeText(budget: ClauseBudget, length: number, where: string): void {
  budget.charactersLeft -= length
  if (budget.charactersLeft >= 0) return
  refuse(
    where,
    `all texts, terms and patterns of a query may have at most ${QUERY_TEXT_TOTAL_MAX} characters`,
  )
}

/** Takes the values of a list. Throws INVALID_ARGUMENT if all lists have more, or longer ones, than allowed. */
export function takeValues(budget: ClauseBudget, values: readonly string[], where: string): void {
  budget.valuesLeft -= values.length
  for (const { length } of values) budget.valueCharactersLeft -= length
  if (budget.valuesLeft < 0) refuse(where, `all values may be at most ${QUERY_VALUES_MAX}`)
  if (budget.valueCharactersLeft >= 0) return
  refuse(where, `all values may have at most ${QUERY_VALUES_LENGTH_MAX} characters together`)
}

/** Takes `length` instructions. False means that the regular expressions are too long together. */
export function takeProgram(budget: ClauseBudget, length: number): boolean {
  budget.programLengthLeft -= length
  return budget.programLengthLeft >= 0
}

export const PROGRAMS_TOO_LONG =
  'all regular expressions of a query together repeat too much or are too long; use fewer, smaller ' +
  'counts or prefixes'

/** Throws INVALID_ARGUMENT. `where` names the place in the request. */
export function refuse(where: string, problem: string): never {
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}

/** Characters of a template in a query: what its compiler takes (node/template), which is another layer. */
export const TEMPLATE_LENGTH_MAX = 65_536
