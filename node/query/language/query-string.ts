// The query string: `+title:"sea chart"~2 (price:>5 OR price:[1 TO 3}) -draft^0.5`.
//
//   query     := conjunction ( [OR] conjunction )*
//   conjunction := signed ( AND signed )*            AND binds tighter than OR
//   signed    := ( + | - | ! | NOT )? clause
//   clause    := [ field: ] ( group | phrase | regexp | range | comparison | word ) [ ^boost ]
//   group     := ( query )                           `field:( … )` is the default field inside
//   phrase    := "…" [ ~slop ]        word := … [ ~edits ], with wildcards * and ?
//   range     := ( [ | { ) bound TO bound ( ] | } )  square brackets include, * is an open end
//
// Adjacent clauses are OR-ed, or AND-ed if that is the default operator. Among adjacent clauses,
// `+` is required and `-` is forbidden. A negation beside a written OR is one of the alternatives.
// `&&` and `||` mean AND and OR.

import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import { sizeOfLinearPattern } from '../../../lib/linear-pattern/linear-pattern.ts'
import { parseFieldPath } from '../../document/field-path.ts'
import {
  buildClauseBudget,
  PROGRAMS_TOO_LONG,
  QUERY_BOOST_MAX,
  QUERY_CLAUSES_MAX,
  QUERY_DEPTH_MAX,
  QUERY_SLOP_MAX,
  QUERY_STRING_LENGTH_MAX,
  takeClause,
  takeProgram,
} from '../query-limits.ts'
import { QueryStringLexer } from './query-string-lexer.ts'
import type { ClauseBudget } from '../query-limits.ts'
import type { Word } from './query-string-lexer.ts'
import type { FieldName, Fuzziness, Query, QueryBounds } from '../query-tree.ts'

/** How to read a query string. */
export interface QueryStringOptions {
  /** The operator between adjacent clauses. The default is `or`. */
  readonly defaultOperator?: 'or' | 'and'
  /** The field of clauses without a field. */
  readonly field?: FieldName
  /** The budget to share with the surrounding query. The default is a budget of its own. */
  readonly budget?: ClauseBudget
}

/** The state of the parser at one clause. */
interface Scope {
  readonly lexer: QueryStringLexer
  readonly budget: ClauseBudget
  readonly defaultOperator: 'or' | 'and'
  readonly field: FieldName
  readonly depth: number
}

type Sign = 'required' | 'forbidden' | 'none'

interface Signed {
  readonly query: Query
  readonly sign: Sign
}

interface Alternative extends Signed {
  /** Whether OR is written on one side of it. */
  readonly besideOr: boolean
}

const CLAUSE = 'a term, a phrase, a field or "("'
const VALUE = 'a value: a term, a phrase, a range or "("'
const EDITS_WITHOUT_NUMBER = 1
const EDITS: readonly Fuzziness[] = [0, 1, 2]

/** Parses a query string. The message of a refusal begins with `query string, column N:`. */
export function parseQueryString(text: string, options: QueryStringOptions = {}): Query {
  if (text.length > QUERY_STRING_LENGTH_MAX) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `query string: may have at most ${QUERY_STRING_LENGTH_MAX} characters, not ${text.length}`,
    )
  }
  const { defaultOperator = 'or', field, budget = buildClauseBudget() } = options
  const lexer = new QueryStringLexer(text)
  lexer.skipSpace()
  if (lexer.isAtEnd) return { kind: 'all', boost: 1 }
  const query = parseAlternatives({ lexer, budget, defaultOperator, field, depth: 0 })
  if (!lexer.isAtEnd) lexer.fail('")" without a "(" before it; write \\) for the character')
  return query
}

/** Stops at the end, or in front of a `)`. */
function parseAlternatives(scope: Scope): Query {
  const { lexer } = scope
  const alternatives: Alternative[] = []
  let isBehindOr = false
  do {
    const signed = parseConjunction(scope)
    const isBeforeOr = lexer.takeOperator('or')
    alternatives.push({ ...signed, besideOr: isBehindOr || isBeforeOr })
    isBehindOr = isBeforeOr
  } while (isBehindOr || !isListEnd(lexer))
  return joinAlternatives(alternatives)
}

function joinAlternatives(alternatives: readonly Alternative[]): Query {
  const [only, ...others] = alternatives
  if (only !== undefined && others.length === 0 && only.sign !== 'forbidden') return only.query
  const must: Query[] = []
  const should: Query[] = []
  const mustNot: Query[] = []
  for (const { query, sign, besideOr } of alternatives) {
    if (sign === 'required') must.push(query)
    else if (sign === 'none') should.push(query)
    else if (besideOr) should.push(buildBoolean({ mustNot: [query] }))
    else mustNot.push(query)
  }
  return buildBoolean({ must, should, mustNot })
}

function parseConjunction(scope: Scope): Signed {
  const { lexer } = scope
  const first = parseSigned(scope)
  const operands = [first]
  while (isConjunctionOngoing(scope)) {
    lexer.takeOperator('and')
    operands.push(parseSigned(scope))
  }
  if (operands.length === 1) return first
  const must = operands.filter(({ sign }) => sign !== 'forbidden')
  const mustNot = operands.filter(({ sign }) => sign === 'forbidden')
  // In `+a AND b c`, `a` is required, and so is the conjunction.
  const sign = operands.some((operand) => operand.sign === 'required') ? 'required' : 'none'
  return { query: buildBoolean({ must: queriesOf(must), mustNot: queriesOf(mustNot) }), sign }
}

function isConjunctionOngoing({ lexer, defaultOperator }: Scope): boolean {
  lexer.skipSpace()
  const operator = lexer.peekOperator()
  if (operator === 'and') return true
  return defaultOperator === 'and' && operator !== 'or' && !isListEnd(lexer)
}

function isListEnd(lexer: QueryStringLexer): boolean {
  lexer.skipSpace()
  return lexer.isAtEnd || lexer.peek() === ')'
}

function parseSigned(scope: Scope): Signed {
  const { lexer } = scope
  lexer.skipSpace()
  const sign = readSign(lexer)
  // A sign stands directly before its clause. In `sea - chart` the minus is most likely a dash.
  if (sign !== 'none' && /[\s+!-]/.test(lexer.peek())) lexer.failExpecting(CLAUSE)
  return { query: parseClause(scope), sign }
}

function readSign(lexer: QueryStringLexer): Sign {
  if (lexer.takeOperator('not')) {
    lexer.skipSpace()
    return 'forbidden'
  }
  if (lexer.take('+')) return 'required'
  return lexer.take('-') || lexer.take('!') ? 'forbidden' : 'none'
}

function parseClause(scope: Scope): Query {
  const { lexer } = scope
  const value = parseValue(scope)
  if (value !== undefined) return value
  if (lexer.peekOperator() !== undefined) lexer.failExpecting(CLAUSE)
  const word = lexer.readWord() ?? lexer.failExpecting(CLAUSE)
  if (!lexer.take(':')) return withBoost(lexer, parseTerm(scope, word))
  if (lexer.isNext('//')) lexer.failAtUrl(word.start)
  lexer.skipSpace()
  if (word.pattern === '*' && lexer.take('*')) return withBoost(lexer, { kind: 'all', boost: 1 })
  const inField = { ...scope, field: parseFieldName(lexer, word) }
  return parseValue(inField) ?? parseFieldTerm(inField)
}

function parseFieldName(lexer: QueryStringLexer, word: Word): string {
  if (word.wildcards > 0) {
    lexer.fail('expected a field without wildcards; write \\* for the character', word.start)
  }
  return lexer.at(word.start, () => parseFieldPath(word.text, 'field').text)
}

function parseFieldTerm(scope: Scope): Query {
  const { lexer } = scope
  const word = lexer.readWord() ?? lexer.failExpecting(VALUE)
  if (lexer.isNext('://')) lexer.failAtUrl(word.start)
  if (lexer.peek() === ':') lexer.fail('second ":" in a clause; write \\: for the character')
  return withBoost(lexer, parseTerm(scope, word))
}

/** Parses every value that its first character identifies. Answers undefined if a word is next. */
function parseValue(scope: Scope): Query | undefined {
  const { lexer, field } = scope
  switch (lexer.peek()) {
    case '(':
      return parseGroup(scope)
    case '"':
      return withBoost(lexer, parsePhrase(scope))
    case '/':
      countClause(scope)
      return withBoost(lexer, { kind: 'regexp', field, pattern: parseRegexp(scope), boost: 1 })
    case '[':
    case '{':
      return withBoost(lexer, parseRange(scope))
    case '<':
    case '>':
      return field === undefined ? undefined : withBoost(lexer, parseComparison(scope))
    default:
      return undefined
  }
}

function parseGroup(scope: Scope): Query {
  const { lexer } = scope
  const opening = lexer.position
  countClause(scope)
  const depth = scope.depth + 1
  if (depth > QUERY_DEPTH_MAX) lexer.fail(`nested deeper than ${QUERY_DEPTH_MAX} levels`)
  lexer.take('(')
  const query = parseAlternatives({ ...scope, depth })
  if (!lexer.take(')')) {
    lexer.failExpecting(`")" to close the "(" of column ${lexer.columnOf(opening)}`)
  }
  return withBoost(lexer, query)
}

function parsePhrase(scope: Scope): Query {
  const { lexer, field } = scope
  countClause(scope)
  const text = lexer.readQuoted()
  const slop = lexer.take('~') ? parseSlop(lexer) : 0
  return { kind: 'phrase', field, text, slop, fuzziness: 0, analyzer: undefined, boost: 1 }
}

function parseRegexp({ lexer, budget }: Scope): string {
  const start = lexer.position
  const pattern = lexer.readRegexp()
  let size: number
  try {
    size = sizeOfLinearPattern(pattern, { match: 'whole' })
  } catch (error) {
    if (isServiceError(error)) lexer.fail(error.message, start)
    throw error
  }
  if (!takeProgram(budget, size)) lexer.fail(PROGRAMS_TOO_LONG, start)
  return pattern
}

function parseSlop(lexer: QueryStringLexer): number {
  const start = lexer.position
  const slop = lexer.readDecimal()
  if (Number.isSafeInteger(slop) && slop !== undefined && slop <= QUERY_SLOP_MAX) return slop
  return lexer.fail(`expected a whole number up to ${QUERY_SLOP_MAX} behind "~"`, start)
}

function parseTerm(scope: Scope, word: Word): Query {
  const { lexer, field, defaultOperator: operator } = scope
  countClause(scope, word.start)
  if (word.wildcards > 0) {
    if (lexer.peek() === '~') lexer.fail('a term with wildcards cannot be fuzzy')
    return parsePattern(scope, word)
  }
  const fuzziness = lexer.take('~') ? parseEdits(lexer) : 0
  const [text, prefixLength, analyzer] = [word.text, 0, undefined]
  return { kind: 'match', field, text, operator, fuzziness, prefixLength, analyzer, boost: 1 }
}

function parseEdits(lexer: QueryStringLexer): Fuzziness {
  if (lexer.isAtEnd || /[\s()^]/.test(lexer.peek())) return EDITS_WITHOUT_NUMBER
  const start = lexer.position
  const edits = lexer.readDecimal()
  const known = EDITS.find((one) => one === edits)
  return known ?? lexer.fail('expected 0, 1 or 2 edits behind "~"', start)
}

/** `*` alone matches every document. `field:*` matches every document with a value in the field. */
function parsePattern({ lexer, field }: Scope, word: Word): Query {
  if (word.pattern === '*' && field === undefined) return { kind: 'all', boost: 1 }
  if (word.pattern === '*') return { kind: 'exists', field, boost: 1 }
  if (word.isPrefix) return { kind: 'prefix', field, prefix: word.text.slice(0, -1), boost: 1 }
  lexer.checkPattern(word.pattern, word.start)
  return { kind: 'wildcard', field, pattern: word.pattern, boost: 1 }
}

function parseComparison(scope: Scope): Query {
  const { lexer, field } = scope
  countClause(scope)
  const isLowerBound = lexer.take('>')
  if (!isLowerBound) lexer.take('<')
  const isInclusive = lexer.take('=')
  const value = lexer.peek() === '"' ? lexer.readQuoted() : lexer.readCompared()?.text
  if (value === undefined) lexer.failExpecting('a value to compare with')
  const open = { min: undefined, max: undefined, inclusiveMin: false, inclusiveMax: false }
  const bounds = isLowerBound
    ? { ...open, min: value, inclusiveMin: isInclusive }
    : { ...open, max: value, inclusiveMax: isInclusive }
  return { kind: 'untyped-range', field, bounds, boost: 1 }
}

function parseRange(scope: Scope): Query {
  const { lexer, field } = scope
  countClause(scope)
  const inclusiveMin = lexer.take('[')
  if (!inclusiveMin) lexer.take('{')
  const min = parseBound(lexer)
  const joint = lexer.position
  if (lexer.readBound()?.pattern !== 'TO') lexer.fail('expected TO between the bounds', joint)
  const max = parseBound(lexer)
  const inclusiveMax = lexer.take(']')
  if (!inclusiveMax && !lexer.take('}')) lexer.failExpecting('"]" or "}" to close the range')
  const bounds: QueryBounds<string> = { min, max, inclusiveMin, inclusiveMax }
  return { kind: 'untyped-range', field, bounds, boost: 1 }
}

function parseBound(lexer: QueryStringLexer): string | undefined {
  lexer.skipSpace()
  if (lexer.peek() === '"') {
    const text = lexer.readQuoted()
    lexer.skipSpace()
    return text
  }
  const word = lexer.readBound() ?? lexer.failExpecting('a bound of the range, or *')
  lexer.skipSpace()
  return word.pattern === '*' ? undefined : word.text
}

function withBoost(lexer: QueryStringLexer, query: Query): Query {
  if (!lexer.take('^')) return query
  const start = lexer.position
  const boost = lexer.readDecimal()
  if (boost === undefined || boost > QUERY_BOOST_MAX) {
    return lexer.fail(`expected a number from 0 to ${QUERY_BOOST_MAX} behind "^"`, start)
  }
  return { ...query, boost: query.boost * boost }
}

function countClause({ lexer, budget }: Scope, position = lexer.position): void {
  if (!takeClause(budget)) {
    lexer.fail(`a query may have at most ${QUERY_CLAUSES_MAX} clauses`, position)
  }
}

function queriesOf(signed: readonly Signed[]): readonly Query[] {
  return signed.map(({ query }) => query)
}

function buildBoolean(parts: {
  readonly must?: readonly Query[]
  readonly should?: readonly Query[]
  readonly mustNot?: readonly Query[]
}): Query {
  const { must = [], should = [], mustNot = [] } = parts
  const minShould = must.length === 0 && should.length > 0 ? 1 : 0
  return { kind: 'boolean', must, should, minShould, mustNot, filter: [], boost: 1 }
}
