// Parses the member `query` of a request. It is a second form of the same queries, with the field
// inside each leaf, and becomes the same tree as `full_text_search`.

import { parseFieldPath } from '../../document/field-path.ts'
import { describeKind } from '../../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from '../../document/json-object.ts'
import { buildBoolean } from './parse-query.ts'
import { valuesOf } from './parse-any-of.ts'
import { parseExactTerm } from './parse-text-queries.ts'
import { checkMembers, parseText, textOf } from './query-clause.ts'
import {
  buildClauseBudget,
  QUERY_CLAUSES_MAX,
  QUERY_DEPTH_MAX,
  refuse,
  takeClause,
  takeText,
} from '../query-limits.ts'
import { takeTextOf } from './query-text.ts'
import type { JsonValue } from '../../document/exact-json.ts'
import type { Clause } from './query-clause.ts'
import type { Query } from '../query-tree.ts'

interface Form {
  readonly members: string
  readonly parse: (inner: Clause) => Query
}

const FORMS: Readonly<Record<string, Form>> = {
  bool: { members: 'must, filter and must_not', parse: parseBool },
  match: { members: 'field and text', parse: parseMatch },
  term: { members: 'field and value', parse: parseTerm },
  terms: { members: 'field and values', parse: parseTerms },
  exists: { members: 'field', parse: parseExists },
}

/** `where` is the place of the query in the request. */
export function parseCanonicalQuery(value: JsonValue, where: string): Query {
  return parseForm(value, { where, depth: 1, budget: buildClauseBudget() })
}

function parseForm(value: JsonValue, at: Omit<Clause, 'members'>): Query {
  const { where, depth, budget } = at
  if (!isJsonObject(value)) return refuse(where, `must be an object, not ${describeKind(value)}`)
  if (depth > QUERY_DEPTH_MAX) refuse(where, `nested deeper than ${QUERY_DEPTH_MAX} levels`)
  if (!takeClause(budget)) refuse(where, `a query may have at most ${QUERY_CLAUSES_MAX} clauses`)
  const [name = '', ...more] = Object.keys(value)
  const form = Object.hasOwn(FORMS, name) ? FORMS[name] : undefined
  if (form === undefined || more.length > 0) {
    return refuse(where, `must have exactly one of ${Object.keys(FORMS).join(', ')}`)
  }
  const members = memberOf(value, name)
  if (!isJsonObject(members)) {
    return refuse(`${where}.${name}`, `must be an object with ${form.members}`)
  }
  const query = form.parse({ ...at, members, where: `${where}.${name}` })
  takeTextOf(query, budget, where)
  return query
}

function parseBool(clause: Clause): Query {
  checkMembers(clause, ['must', 'filter', 'must_not'])
  if (Object.keys(clause.members).length === 0) {
    refuse(clause.where, 'must have must, filter or must_not')
  }
  return buildBoolean({
    must: partsOf(clause, 'must'),
    filter: partsOf(clause, 'filter'),
    mustNot: partsOf(clause, 'must_not'),
    boost: 1,
  })
}

/** One query, or a list of queries. */
function partsOf({ members, where, depth, budget }: Clause, name: string): readonly Query[] {
  const value = memberOf(members, name)
  if (value === undefined) return []
  const place = `${where}.${name}`
  if (!isJsonArray(value)) return [parseForm(value, { where: place, depth: depth + 1, budget })]
  return value.map((part, index) =>
    parseForm(part, { where: `${place}[${index}]`, depth: depth + 1, budget }),
  )
}

function parseMatch(clause: Clause): Query {
  checkMembers(clause, ['field', 'text'])
  return {
    kind: 'match',
    field: fieldOf(clause),
    text: textOf(clause, 'text'),
    operator: 'or',
    fuzziness: 0,
    prefixLength: 0,
    analyzer: undefined,
    boost: 1,
  }
}

function parseTerm(clause: Clause): Query {
  checkMembers(clause, ['field', 'value'])
  const term = parseExactTerm(memberOf(clause.members, 'value'), `${clause.where}.value`)
  return { kind: 'term', field: fieldOf(clause), term, boost: 1 }
}

/** Few values score as words do; more than a query has clauses score alike. */
function parseTerms(clause: Clause): Query {
  checkMembers(clause, ['field', 'values'])
  const field = fieldOf(clause)
  const values = valuesOf(clause)
  if (values.length > QUERY_CLAUSES_MAX) return { kind: 'any-of', field, values, boost: 1 }
  const should = values.map((term, index): Query => {
    const where = `${clause.where}.values[${index}]`
    if (!takeClause(clause.budget)) {
      refuse(where, `a query may have at most ${QUERY_CLAUSES_MAX} clauses`)
    }
    takeText(clause.budget, term.length, where)
    return { kind: 'term', field, term, boost: 1 }
  })
  return buildBoolean({ should, minShould: 1, boost: 1 })
}

function parseExists(clause: Clause): Query {
  checkMembers(clause, ['field'])
  return { kind: 'exists', field: fieldOf(clause), boost: 1 }
}

/** A dotted path or a JSON pointer (RFC 6901). */
function fieldOf({ members, where }: Clause): string {
  const place = `${where}.field`
  const text = parseText(memberOf(members, 'field'), place)
  if (!text.startsWith('/')) return parseFieldPath(text, place).text
  const steps = text.slice(1).split('/')
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return parseFieldPath(names.join('.'), place).text
}
