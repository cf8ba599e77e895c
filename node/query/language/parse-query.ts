// Parses the JSON query language into a checked Query. The members of an object choose its shape.

import { describeKind } from '../../document/exact-json.ts'
import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { boostOf, checkMembers, integerOf, listOf } from './query-clause.ts'
import {
  parseGeoBox,
  parseGeoDistance,
  parseGeoPolygon,
  parseGeoShape,
} from './parse-geo-queries.ts'
import {
  parseIds,
  parseMatch,
  parseMatchPhrase,
  parseMultiMatch,
  parsePrefix,
  parseRegexp,
  parseStringQuery,
  parseTerm,
  parseWildcardQuery,
} from './parse-text-queries.ts'
import { parseTerms } from './parse-any-of.ts'
import { parseSimple } from './parse-simple-query.ts'
import { parseBool, parseDateRange, parseIpRange, parseRange } from './parse-value-queries.ts'
import {
  buildClauseBudget,
  QUERY_CLAUSES_MAX,
  QUERY_DEPTH_MAX,
  refuse,
  takeClause,
} from '../query-limits.ts'
import { takeTextOf } from './query-text.ts'
import type { JsonValue } from '../../document/exact-json.ts'
import type { Clause } from './query-clause.ts'
import type { Query } from '../query-tree.ts'

interface Shape {
  /** Members that select this shape. */
  readonly signs: readonly string[]
  /** Other members that the shape may have. `boost` is always allowed. */
  readonly others: readonly string[]
  readonly parse: (clause: Clause) => Query
}

type QueryList = readonly Query[]

// The first shape with a matching sign wins, because `min` belongs to a range and to a disjunction.
const SHAPES: readonly Shape[] = [
  { signs: ['disjuncts'], others: ['min'], parse: parseDisjunction },
  { signs: ['match_all'], others: [], parse: (clause) => parseEmpty(clause, 'all') },
  { signs: ['match_none'], others: [], parse: (clause) => parseEmpty(clause, 'none') },
  { signs: ['query'], others: ['field', 'default_operator'], parse: parseStringQuery },
  { signs: ['ids'], others: [], parse: parseIds },
  { signs: ['term'], others: ['field', 'fuzziness', 'prefix_length'], parse: parseTerm },
  {
    signs: ['match'],
    others: ['field', 'operator', 'analyzer', 'fuzziness', 'prefix_length'],
    parse: parseMatch,
  },
  {
    signs: ['match_phrase'],
    others: ['field', 'analyzer', 'fuzziness', 'slop'],
    parse: parseMatchPhrase,
  },
  { signs: ['terms'], others: ['field', 'slop'], parse: parseTerms },
  { signs: ['prefix'], others: ['field'], parse: parsePrefix },
  { signs: ['wildcard'], others: ['field'], parse: parseWildcardQuery },
  { signs: ['regexp'], others: ['field'], parse: parseRegexp },
  { signs: ['simple'], others: [], parse: parseSimple },
  { signs: ['multi_match'], others: [], parse: parseMultiMatch },
  { signs: ['bool'], others: ['field'], parse: parseBool },
  { signs: ['cidr'], others: ['field'], parse: parseIpRange },
  {
    signs: ['min', 'max'],
    others: ['inclusive_min', 'inclusive_max', 'field'],
    parse: parseRange,
  },
  {
    signs: ['start', 'end'],
    others: ['inclusive_start', 'inclusive_end', 'datetime_parser', 'field'],
    parse: parseDateRange,
  },
  { signs: ['top_left', 'bottom_right'], others: ['field'], parse: parseGeoBox },
  { signs: ['location', 'distance'], others: ['field'], parse: parseGeoDistance },
  { signs: ['polygon_points'], others: ['field'], parse: parseGeoPolygon },
  { signs: ['geometry'], others: ['field'], parse: parseGeoShape },
  { signs: ['conjuncts'], others: [], parse: parseConjunction },
  { signs: ['must', 'should', 'must_not', 'filter'], others: [], parse: parseBoolean },
]

const ALL_SIGNS = SHAPES.flatMap(({ signs }) => signs).join(', ')

/** `where` is the place of the query in the request, such as `full_text_search`. */
export function parseQuery(value: JsonValue, where: string, budget = buildClauseBudget()): Query {
  return parseClause(value, { where, depth: 1, budget })
}

function parseClause(value: JsonValue, at: Omit<Clause, 'members'>): Query {
  const { where, depth, budget } = at
  if (!isJsonObject(value)) return refuseNonObject(value, where)
  if (depth > QUERY_DEPTH_MAX) refuse(where, `nested deeper than ${QUERY_DEPTH_MAX} levels`)
  if (!takeClause(budget)) refuse(where, `a query may have at most ${QUERY_CLAUSES_MAX} clauses`)
  const clause = { ...at, members: value }
  const shape = chooseShape(clause)
  checkMembers(clause, [...shape.signs, ...shape.others, 'boost'])
  const query = shape.parse(clause)
  takeTextOf(query, budget, where)
  return query
}

function refuseNonObject(value: JsonValue, where: string): never {
  const hint = typeof value === 'string' ? '; a query string stands in {"query": "..."}' : ''
  return refuse(where, `must be an object, not ${describeKind(value)}${hint}`)
}

function chooseShape({ members, where }: Clause): Shape {
  const shape = SHAPES.find(({ signs }) => signs.some((sign) => Object.hasOwn(members, sign)))
  return shape ?? refuse(where, `not a query: it must have one of ${ALL_SIGNS}`)
}

function parseEmpty(clause: Clause, kind: 'all' | 'none'): Query {
  const name = `match_${kind}`
  if (!isJsonObject(memberOf(clause.members, name))) {
    refuse(`${clause.where}.${name}`, 'must be an object: {}')
  }
  return { kind, boost: boostOf(clause) }
}

function parseConjunction(clause: Clause): Query {
  return buildBoolean({ must: parseList(clause, 'conjuncts'), boost: boostOf(clause) })
}

function parseDisjunction(clause: Clause): Query {
  const minShould = Math.max(1, minOf(clause) ?? 1)
  return buildBoolean({
    should: parseList(clause, 'disjuncts'),
    minShould,
    boost: boostOf(clause),
  })
}

/**
 * Beside `must` or `filter`, a `should` without `min` only changes scores. A `should` alone needs
 * one match. A `must_not` alone matches every other document.
 */
function parseBoolean(clause: Clause): Query {
  const must = spreadMust(parseMember(clause, 'must'))
  const filter = queriesOf(parseMember(clause, 'filter'))
  const mustNot = spreadShould(parseMember(clause, 'must_not'))
  const should = parseShould(clause)
  const isRequired = should.queries.length > 0 && must.length === 0 && filter.length === 0
  return buildBoolean({
    must,
    filter,
    mustNot,
    should: should.queries,
    minShould: Math.max(should.min, isRequired ? 1 : 0),
    boost: boostOf(clause),
  })
}

/** `should` may hold any query. If it is a disjunction, its `min` may be 0. */
function parseShould(clause: Clause): { readonly queries: QueryList; readonly min: number } {
  const query = parseMember(clause, 'should')
  const value = memberOf(clause.members, 'should')
  if (query?.kind !== 'boolean' || !isJsonObject(value) || !Object.hasOwn(value, 'disjuncts')) {
    return { queries: queriesOf(query), min: 0 }
  }
  const inner = { ...clause, members: value, where: `${clause.where}.should` }
  return { queries: scaled(query.should, query.boost), min: minOf(inner) ?? 0 }
}

function minOf(clause: Clause): number | undefined {
  return integerOf(clause, 'min', { min: 0, max: Number.MAX_SAFE_INTEGER })
}

function parseMember(clause: Clause, name: string): Query | undefined {
  const value = memberOf(clause.members, name)
  if (value === undefined) return undefined
  const { where, depth, budget } = clause
  return parseClause(value, { where: `${where}.${name}`, depth: depth + 1, budget })
}

function parseList(clause: Clause, name: string): QueryList {
  const { depth, budget } = clause
  const list = listOf(clause, name, { what: 'query', max: QUERY_CLAUSES_MAX })
  return list.map((value, index) =>
    parseClause(value, { where: `${clause.where}.${name}[${index}]`, depth: depth + 1, budget }),
  )
}

/** The parts of a pure conjunction, so that `must: {conjuncts}` is one level, not two. */
function spreadMust(query: Query | undefined): QueryList {
  if (query?.kind !== 'boolean') return queriesOf(query)
  const isPure = query.should.length + query.mustNot.length + query.filter.length === 0
  return isPure && query.must.length > 0 ? scaled(query.must, query.boost) : [query]
}

/** The parts of a pure disjunction that needs one match. */
function spreadShould(query: Query | undefined): QueryList {
  if (query?.kind !== 'boolean') return queriesOf(query)
  const isPure = query.must.length + query.mustNot.length + query.filter.length === 0
  return isPure && query.minShould === 1 ? scaled(query.should, query.boost) : [query]
}

function scaled(queries: QueryList, boost: number): QueryList {
  return queries.map((query) => ({ ...query, boost: query.boost * boost }))
}

function queriesOf(query: Query | undefined): QueryList {
  return query === undefined ? [] : [query]
}

export function buildBoolean(parts: {
  readonly must?: QueryList
  readonly should?: QueryList
  readonly minShould?: number
  readonly mustNot?: QueryList
  readonly filter?: QueryList
  readonly boost: number
}): Query {
  return { kind: 'boolean', must: [], should: [], minShould: 0, mustNot: [], filter: [], ...parts }
}
