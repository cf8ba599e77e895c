// From the JSON of `filter_query` to a checked DocumentFilter. The keys present choose the kind.

import { ServiceError } from '../../lib/errors.ts'
import { describeKind, numberOf } from '../document/exact-json.ts'
import { parseFieldPath } from '../document/field-path.ts'
import { isJsonNumber } from '../document/json-number.ts'
import { isJsonArray, isJsonObject, memberOf } from '../document/json-object.ts'
import { termOf, wordsOf } from './document-filter.ts'
import { parseWildcard } from './wildcard.ts'
import type { JsonObject, JsonValue } from '../document/exact-json.ts'
import type { FieldPath } from '../document/field-path.ts'
import type { DocumentFilter, ExactTerm, ValueTest } from './document-filter.ts'

export const FILTER_DEPTH_MAX = 20
export const FILTER_CLAUSES_MAX = 1024
export const FILTER_TEXT_LENGTH_MAX = 1024
export const FILTER_IDS_MAX = 10_000

/** The object under examination and its place in the request. */
interface Clause {
  readonly members: JsonObject
  readonly where: string
  readonly depth: number
  readonly budget: Budget
}

/** How many more clauses the whole filter may have. */
interface Budget {
  clausesLeft: number
}

interface Shape {
  /** Members that choose this shape. */
  readonly signs: readonly string[]
  /** Members it may have besides; `boost` always. */
  readonly others: readonly string[]
  readonly parse: (clause: Clause) => DocumentFilter
}

const RANGE_OPTIONS = ['inclusive_min', 'inclusive_max', 'field']

// The first shape with a sign present is taken.
const SHAPES: readonly Shape[] = [
  { signs: ['match_all'], others: [], parse: (clause) => parseEmpty(clause, 'all') },
  { signs: ['match_none'], others: [], parse: (clause) => parseEmpty(clause, 'none') },
  { signs: ['ids'], others: [], parse: parseIds },
  { signs: ['term'], others: ['field'], parse: parseTerm },
  { signs: ['match'], others: ['field', 'operator'], parse: parseMatch },
  { signs: ['prefix'], others: ['field'], parse: parsePrefix },
  { signs: ['wildcard'], others: ['field'], parse: parseWildcardClause },
  { signs: ['bool'], others: ['field'], parse: parseBool },
  { signs: ['min', 'max'], others: RANGE_OPTIONS, parse: parseRange },
  { signs: ['conjuncts'], others: [], parse: parseConjunction },
  { signs: ['must', 'should', 'must_not', 'filter'], others: [], parse: parseBoolean },
]
// `min` belongs to a range and to a disjunction, so the latter is looked for first.
const DISJUNCTION: Shape = { signs: ['disjuncts'], others: ['min'], parse: parseDisjunction }

/** `where` is the place of the filter in the request, such as `filter_query`. */
export function parseDocumentFilter(value: JsonValue, where: string): DocumentFilter {
  return parseFilter(value, { where, depth: 1, budget: { clausesLeft: FILTER_CLAUSES_MAX } })
}

function parseFilter(value: JsonValue, at: Omit<Clause, 'members'>): DocumentFilter {
  const { where, depth, budget } = at
  if (!isJsonObject(value)) refuse(where, `must be an object, not ${describeKind(value)}`)
  if (depth > FILTER_DEPTH_MAX) refuse(where, `nested deeper than ${FILTER_DEPTH_MAX} levels`)
  budget.clausesLeft--
  if (budget.clausesLeft < 0) refuse(where, `more than ${FILTER_CLAUSES_MAX} clauses in all`)
  const clause = { ...at, members: value }
  const shape = chooseShape(clause)
  const allowed = [...shape.signs, ...shape.others, 'boost']
  const unknown = Object.keys(value).find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    refuse(where, `unknown field "${unknown}"; allowed here are ${allowed.join(', ')}`)
  }
  checkBoost(clause)
  return shape.parse(clause)
}

function chooseShape({ members, where }: Clause): Shape {
  const shapes = [DISJUNCTION, ...SHAPES]
  const shape = shapes.find(({ signs }) => signs.some((sign) => Object.hasOwn(members, sign)))
  if (shape !== undefined) return shape
  if (Object.hasOwn(members, 'query')) {
    refuse(where, 'the query string form needs a full-text index; use term, match or prefix here')
  }
  const known = shapes.flatMap(({ signs }) => signs).join(', ')
  return refuse(where, `not a filter: it must have one of ${known}`)
}

/** Scoring has no meaning in a filter; the value is checked and dropped. */
function checkBoost({ members, where }: Clause): void {
  const boost = memberOf(members, 'boost')
  if (boost === undefined) return
  const value = numberOf(boost)
  if (value === undefined || value < 0) refuse(`${where}.boost`, 'must be a number of at least 0')
}

function parseEmpty({ members, where }: Clause, kind: 'all' | 'none'): DocumentFilter {
  const name = `match_${kind}`
  if (!isJsonObject(memberOf(members, name))) refuse(`${where}.${name}`, 'must be an object: {}')
  return { kind }
}

function parseIds({ members, where }: Clause): DocumentFilter {
  const ids = memberOf(members, 'ids')
  if (!isJsonArray(ids)) refuse(`${where}.ids`, 'must be an array of strings')
  if (ids.length > FILTER_IDS_MAX) refuse(`${where}.ids`, `may hold at most ${FILTER_IDS_MAX}`)
  const keys = new Set<string>()
  for (const [index, id] of ids.entries()) {
    if (typeof id !== 'string') refuse(`${where}.ids[${index}]`, 'must be a string')
    keys.add(id)
  }
  return { kind: 'ids', keys }
}

/** `{term: "x", field: "f"}`, or `{term: {f: "x"}}` as some clients write it. */
function parseTerm(clause: Clause): DocumentFilter {
  const { members, where } = clause
  const term = memberOf(members, 'term')
  if (!isJsonObject(term)) {
    return onField(fieldOf(clause), {
      kind: 'term',
      term: parseExactTerm(term, `${where}.term`),
    })
  }
  const [member, ...more] = Object.entries(term)
  if (member === undefined || more.length > 0 || Object.hasOwn(members, 'field')) {
    refuse(
      `${where}.term`,
      'an object here must be of the form {"<field>": <value>} and stand alone',
    )
  }
  const [name, value] = member
  const place = `${where}.term.${name}`
  return onField(parseFieldPath(name, place), { kind: 'term', term: parseExactTerm(value, place) })
}

function parseExactTerm(value: JsonValue | undefined, where: string): ExactTerm {
  if (typeof value === 'string' || typeof value === 'boolean') return termOf(value)
  if (!isJsonNumber(value)) refuse(where, 'must be a string, a number or a boolean')
  return termOf(value)
}

function parseMatch(clause: Clause): DocumentFilter {
  const { members, where } = clause
  const operator = memberOf(members, 'operator') ?? 'or'
  if (operator !== 'or' && operator !== 'and') refuse(`${where}.operator`, 'must be "or" or "and"')
  const words = [...new Set(wordsOf(textOf(clause, 'match')))]
  return { kind: 'match', field: fieldOf(clause), words: { words, operator } }
}

function parsePrefix(clause: Clause): DocumentFilter {
  return onField(fieldOf(clause), { kind: 'prefix', prefix: textOf(clause, 'prefix') })
}

function parseWildcardClause(clause: Clause): DocumentFilter {
  const pattern = parseWildcard(textOf(clause, 'wildcard'))
  return onField(fieldOf(clause), { kind: 'wildcard', pattern })
}

function parseBool(clause: Clause): DocumentFilter {
  const value = memberOf(clause.members, 'bool')
  if (typeof value !== 'boolean') refuse(`${clause.where}.bool`, 'must be true or false')
  return onField(fieldOf(clause), { kind: 'bool', value })
}

function parseRange(clause: Clause): DocumentFilter {
  const { members, where } = clause
  const field = fieldOf(clause)
  const [min, max] = [memberOf(members, 'min'), memberOf(members, 'max')]
  const inclusiveMin = flagOf(clause, 'inclusive_min', true)
  const inclusiveMax = flagOf(clause, 'inclusive_max', false)
  if (isNumberOrAbsent(min) && isNumberOrAbsent(max)) {
    return onField(field, { kind: 'numbers', bounds: { min, max, inclusiveMin, inclusiveMax } })
  }
  if (!isTextOrAbsent(min) || !isTextOrAbsent(max)) {
    refuse(where, 'min and max must be two numbers or two strings; one of them may be absent')
  }
  const bounds = { min: bytesOf(min), max: bytesOf(max), inclusiveMin, inclusiveMax }
  return onField(field, { kind: 'text', bounds })
}

function parseConjunction(clause: Clause): DocumentFilter {
  return { kind: 'and', filters: parseList(clause, 'conjuncts') }
}

function parseDisjunction(clause: Clause): DocumentFilter {
  const filters = parseList(clause, 'disjuncts')
  return { kind: 'or', filters, min: Math.max(1, minOf(clause)) }
}

/**
 * Beside `must` or `filter`, a `should` without a `min` is only about scores, so it does not filter.
 * A lone `must_not` matches everything else.
 */
function parseBoolean(clause: Clause): DocumentFilter {
  const { members } = clause
  const filters: DocumentFilter[] = []
  for (const name of ['must', 'filter']) {
    const inner = parseMember(clause, name)
    if (inner !== undefined) filters.push(inner)
  }
  const should = parseMember(clause, 'should')
  if (should !== undefined && (filters.length === 0 || hasMin(members))) filters.push(should)
  const mustNot = parseMember(clause, 'must_not')
  if (mustNot !== undefined) filters.push({ kind: 'not', filter: mustNot })
  return { kind: 'and', filters }
}

function hasMin(members: JsonObject): boolean {
  const should = memberOf(members, 'should')
  const min = isJsonObject(should) ? numberOf(memberOf(should, 'min')) : undefined
  return min !== undefined && min > 0
}

function parseMember(clause: Clause, name: string): DocumentFilter | undefined {
  const value = memberOf(clause.members, name)
  if (value === undefined) return undefined
  return parseFilter(value, {
    where: `${clause.where}.${name}`,
    depth: clause.depth + 1,
    budget: clause.budget,
  })
}

function parseList(clause: Clause, name: string): readonly DocumentFilter[] {
  const list = memberOf(clause.members, name)
  const where = `${clause.where}.${name}`
  if (!isJsonArray(list) || list.length === 0) {
    refuse(where, 'must be an array of at least one filter')
  }
  return list.map((value, index) =>
    parseFilter(value, {
      where: `${where}[${index}]`,
      depth: clause.depth + 1,
      budget: clause.budget,
    }),
  )
}

function onField(field: FieldPath, test: ValueTest): DocumentFilter {
  return { kind: 'field', field, test }
}

function minOf({ members, where }: Clause): number {
  const min = memberOf(members, 'min') ?? 1
  if (typeof min !== 'number' || !Number.isSafeInteger(min) || min < 0) {
    refuse(`${where}.min`, 'must be an integer of at least 0')
  }
  return min
}

function fieldOf({ members, where }: Clause): FieldPath {
  const field = memberOf(members, 'field')
  if (typeof field !== 'string') refuse(`${where}.field`, 'must be the name of a field, a string')
  return parseFieldPath(field, `${where}.field`)
}

function textOf({ members, where }: Clause, name: string): string {
  const text = memberOf(members, name)
  if (typeof text !== 'string') refuse(`${where}.${name}`, 'must be a string')
  if (text.length > FILTER_TEXT_LENGTH_MAX) {
    refuse(`${where}.${name}`, `may have at most ${FILTER_TEXT_LENGTH_MAX} characters`)
  }
  return text
}

function flagOf({ members, where }: Clause, name: string, fallback: boolean): boolean {
  const flag = memberOf(members, name) ?? fallback
  if (typeof flag !== 'boolean') refuse(`${where}.${name}`, 'must be true or false')
  return flag
}

function isNumberOrAbsent(value: JsonValue | undefined) {
  return value === undefined || isJsonNumber(value)
}

function isTextOrAbsent(value: JsonValue | undefined): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

function bytesOf(text: string | undefined): Buffer | undefined {
  return text === undefined ? undefined : Buffer.from(text, 'utf8')
}

function refuse(where: string, problem: string): never {
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
