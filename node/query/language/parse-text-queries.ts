// Parses the leaves of the JSON language that search for words and terms.

import { sizeOfLinearPattern } from '../../../lib/linear-pattern/linear-pattern.ts'
import { isRawNumber } from '../../document/exact-json.ts'
import { parseFieldPath } from '../../document/field-path.ts'
import { isJsonNumber } from '../../document/json-number.ts'
import { isJsonArray, isJsonObject, memberOf } from '../../document/json-object.ts'
import {
  boostOf,
  checkMembers,
  choiceOf,
  fieldOf,
  fuzzinessOf,
  integerOf,
  listOf,
  parseText,
  prefixLengthOf,
  textOf,
} from './query-clause.ts'
import { ANALYZER_NAMES } from '../../schema/analyzer-names.ts'
import { parseQueryString } from './query-string.ts'
import {
  QUERY_CLAUSES_MAX,
  QUERY_IDS_MAX,
  QUERY_PATTERN_LENGTH_MAX,
  PROGRAMS_TOO_LONG,
  QUERY_SLOP_MAX,
  refuse,
  takeProgram,
  takeText,
} from '../query-limits.ts'
import { at } from '../../document/document-limits.ts'
import type { JsonValue } from '../../document/exact-json.ts'
import type { Clause } from './query-clause.ts'
import type { FieldName, Query } from '../query-tree.ts'

const OPERATORS = ['or', 'and'] as const
const FIELDS_MAX = 100

export function parseStringQuery(clause: Clause): Query {
  const text = textOf(clause, 'query', Infinity)
  takeText(clause.budget, text.length, `${clause.where}.query`)
  const options = {
    defaultOperator: choiceOf(clause, 'default_operator', OPERATORS) ?? 'or',
    field: fieldOf(clause),
    budget: clause.budget,
  }
  const query = at(`${clause.where}.query`, () => parseQueryString(text, options))
  return { ...query, boost: query.boost * boostOf(clause) }
}

/** Reads `{term: "x", field: "f"}`, or `{term: {f: "x"}}` as some clients write it. */
export function parseTerm(clause: Clause): Query {
  const { term, field } = readTerm(clause)
  const boost = boostOf(clause)
  if (!Object.hasOwn(clause.members, 'fuzziness')) {
    if (Object.hasOwn(clause.members, 'prefix_length')) {
      refuse(`${clause.where}.prefix_length`, 'belongs to a fuzzy term, so add fuzziness')
    }
    return { kind: 'term', field, term, boost }
  }
  const fuzziness = fuzzinessOf(clause, 1)
  return { kind: 'fuzzy', field, term, fuzziness, prefixLength: prefixLengthOf(clause), boost }
}

function readTerm(clause: Clause): { readonly term: string; readonly field: FieldName } {
  const { members, where } = clause
  const term = memberOf(members, 'term')
  if (!isJsonObject(term)) {
    return { term: parseExactTerm(term, `${where}.term`), field: fieldOf(clause) }
  }
  const [member, ...more] = Object.entries(term)
  if (member === undefined || more.length > 0 || Object.hasOwn(members, 'field')) {
    return refuse(
      `${where}.term`,
      'an object here must be of the form {"<field>": <value>} and stand alone',
    )
  }
  const [name, value] = member
  const place = `${where}.term.${name}`
  return { term: parseExactTerm(value, place), field: parseFieldPath(name, place).text }
}

/** A number or a boolean is the term of its JSON text. */
export function parseExactTerm(value: JsonValue | undefined, where: string): string {
  if (typeof value === 'string') return parseText(value, where)
  if (typeof value === 'boolean') return String(value)
  if (!isJsonNumber(value)) return refuse(where, 'must be a string, a number or a boolean')
  return isRawNumber(value) ? value.rawJSON : String(value)
}

export function parseMatch(clause: Clause): Query {
  return {
    kind: 'match',
    field: fieldOf(clause),
    text: textOf(clause, 'match'),
    operator: choiceOf(clause, 'operator', OPERATORS) ?? 'or',
    fuzziness: fuzzinessOf(clause, 0),
    prefixLength: prefixLengthOf(clause),
    analyzer: choiceOf(clause, 'analyzer', ANALYZER_NAMES),
    boost: boostOf(clause),
  }
}

export function parseMatchPhrase(clause: Clause): Query {
  return {
    kind: 'phrase',
    field: fieldOf(clause),
    text: textOf(clause, 'match_phrase'),
    slop: slopOf(clause),
    fuzziness: fuzzinessOf(clause, 0),
    analyzer: choiceOf(clause, 'analyzer', ANALYZER_NAMES),
    boost: boostOf(clause),
  }
}

/**
 * Parses the terms of each position: `[a, b]` has one for each, `[[a, b], [c]]` has alternatives.
 */
export function parsePhraseTerms(clause: Clause): Query {
  const where = `${clause.where}.terms`
  const list = listOf(clause, 'terms', { what: 'term', max: QUERY_CLAUSES_MAX })
  const positions = list.map((position, index) => parsePosition(position, `${where}[${index}]`))
  if (positions.flat().length > QUERY_CLAUSES_MAX) {
    refuse(where, `may hold at most ${QUERY_CLAUSES_MAX} terms in all`)
  }
  const [field, slop, boost] = [fieldOf(clause), slopOf(clause), boostOf(clause)]
  return { kind: 'phrase-terms', field, positions, slop, boost }
}

function parsePosition(position: JsonValue, where: string): readonly string[] {
  if (!isJsonArray(position)) return [parseText(position, where)]
  if (position.length === 0) refuse(where, 'must hold at least one term')
  return position.map((term, index) => parseText(term, `${where}[${index}]`))
}

function slopOf(clause: Clause): number {
  return integerOf(clause, 'slop', { min: 0, max: QUERY_SLOP_MAX }) ?? 0
}

export function parsePrefix(clause: Clause): Query {
  const [field, boost] = [fieldOf(clause), boostOf(clause)]
  return { kind: 'prefix', field, prefix: textOf(clause, 'prefix'), boost }
}

export function parseWildcardQuery(clause: Clause): Query {
  const [field, boost] = [fieldOf(clause), boostOf(clause)]
  const pattern = textOf(clause, 'wildcard', QUERY_PATTERN_LENGTH_MAX)
  return pattern === '*'
    ? { kind: 'exists', field, boost }
    : { kind: 'wildcard', field, pattern, boost }
}

export function parseRegexp(clause: Clause): Query {
  const [field, boost] = [fieldOf(clause), boostOf(clause)]
  const pattern = textOf(clause, 'regexp', QUERY_PATTERN_LENGTH_MAX)
  const place = `${clause.where}.regexp`
  const size = at(place, () => sizeOfLinearPattern(pattern, { match: 'whole' }))
  if (!takeProgram(clause.budget, size)) refuse(place, PROGRAMS_TOO_LONG)
  return { kind: 'regexp', field, pattern, boost }
}

export function parseMultiMatch(clause: Clause): Query {
  const members = memberOf(clause.members, 'multi_match')
  const where = `${clause.where}.multi_match`
  if (!isJsonObject(members)) return refuse(where, 'must be an object')
  const inner: Clause = { ...clause, members, where }
  checkMembers(inner, ['query', 'fields', 'type', 'fuzziness', 'boost'])
  if (choiceOf(inner, 'type', ['bool_prefix']) === undefined) {
    refuse(`${where}.type`, 'must be "bool_prefix"')
  }
  const fields = listOf(inner, 'fields', { what: 'field', max: FIELDS_MAX }).map((field, index) => {
    const place = `${where}.fields[${index}]`
    return parseFieldPath(parseText(field, place), place).text
  })
  const boost = boostOf(inner) * boostOf(clause)
  const fuzziness = fuzzinessOf(inner, 0)
  return { kind: 'multi-match', fields, text: textOf(inner, 'query'), fuzziness, boost }
}

export function parseIds({ members, where, ...rest }: Clause): Query {
  const ids = memberOf(members, 'ids')
  if (!isJsonArray(ids)) return refuse(`${where}.ids`, 'must be an array of strings')
  if (ids.length > QUERY_IDS_MAX) refuse(`${where}.ids`, `may hold at most ${QUERY_IDS_MAX}`)
  const boost = boostOf({ members, where, ...rest })
  return {
    kind: 'ids',
    ids: ids.map((id, index) => parseText(id, `${where}.ids[${index}]`)),
    boost,
  }
}
