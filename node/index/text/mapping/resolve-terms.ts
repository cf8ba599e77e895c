// Resolves queries on exact terms of the index: term, fuzzy, prefix, wildcard, regexp, boolean
// values, and networks of addresses.

import { CANONICAL } from '../analysis/fold-term.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { ALL_FIELD, KEYWORD_SUFFIX, PREFIX_SUFFIX, WORDLESS_SUFFIX } from './field-names.ts'
import { patternOfPrefix, wordsOfPattern, type PatternWord } from './pattern-words.ts'
import { NOTHING, refusal } from './query-context.ts'
import { exactValue, fuzzyTerm, hasTerms } from './resolve-text.ts'
import { anyOf, phraseOf } from './synonym-queries.ts'
import {
  networkMatcher,
  prefixMatcher,
  prefixRanking,
  regexpMatcher,
  wildcardMatcher,
  wildcardRanking,
} from './term-matchers.ts'
import type { EngineQuery, TermMatcher } from '../engine-query.ts'
import type { FieldName, QueryOf } from '../../../query/query-tree.ts'
import type { IndexedField } from './field-registry.ts'
import type { QueryContext } from './query-context.ts'

/** The limit of terms of one word of a pattern in a row of words, because each is walked by itself. */
const PATTERN_TERMS_MAX = 4096

export function resolveExists(query: QueryOf<'exists'>, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  const { boost } = query
  const own: EngineQuery = { kind: 'exists', field: field.indexField, boost }
  if (field.kind !== 'text') return own
  // A document has one of them, so that both parts together score as one.
  const wordless: EngineQuery = { kind: 'exists', field: field.indexField + WORDLESS_SUFFIX, boost }
  return eitherOf([own, wordless])
}

function eitherOf(should: readonly EngineQuery[]): EngineQuery {
  return { kind: 'boolean', must: [], should, minShould: 1, mustNot: [], filter: [], boost: 1 }
}

export function resolveTerm(query: QueryOf<'term'>, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  const { term, boost } = query
  if (!hasTerms(field)) return exactValue(field, term, boost, context)
  if (field.kind === 'text' && context.analyzer(field, undefined).normalize(term) !== term) {
    context.warn(
      `field "${query.field ?? ALL_FIELD}" is text and its analyzer never makes the term "${term.slice(0, 100)}"; ` +
        'use match for words, and a keyword sub-field for whole values',
    )
  }
  const value = field.kind === 'keyword' ? CANONICAL.term(term) : term
  return { kind: 'term', field: field.indexField, term: value, boost }
}

export function resolveFuzzy(query: QueryOf<'fuzzy'>, context: QueryContext): EngineQuery {
  const field = termField(query.field, context)
  if (field === undefined) return NOTHING
  const { fuzziness, prefixLength, boost } = query
  const term = context.analyzer(field, undefined).normalize(query.term)
  return fuzzyTerm({ field: field.indexField, term, fuzziness, prefixLength }, boost)
}

export function resolvePrefix(query: QueryOf<'prefix'>, context: QueryContext): EngineQuery {
  const field = termField(query.field, context)
  if (field === undefined) return NOTHING
  const prefix = context.analyzer(field, undefined).normalize(query.prefix)
  const ranking = prefixRanking(prefix)
  const word = { ...expand(field, prefixMatcher(prefix), query.boost), ranking }
  return orWords(word, { field, pattern: patternOfPrefix(query.prefix), context })
}

export function resolveWildcard(query: QueryOf<'wildcard'>, context: QueryContext): EngineQuery {
  const field = termField(query.field, context)
  if (field === undefined) return NOTHING
  const pattern = context.analyzer(field, undefined).normalize(query.pattern)
  const ranking = wildcardRanking(pattern)
  const word = { ...expand(field, wildcardMatcher(pattern), query.boost), ranking }
  return orWords(word, { field, pattern: query.pattern, context })
}

interface Pattern {
  readonly field: IndexedField
  readonly pattern: string
  readonly context: QueryContext
}

/**
 * The query, or the words of the pattern in a row if the field's analyzer splits it. Such a field
 * has no term with the whole pattern, so that the query alone would find nothing.
 */
function orWords(query: EngineQuery & { kind: 'expand' }, { field, pattern, context }: Pattern) {
  const isOfWords = field.kind === 'text' && !field.indexField.endsWith(PREFIX_SUFFIX)
  if (!isOfWords) return query
  const words = wordsOfPattern(pattern, context.analyzer(field, undefined))
  context.takeTerms(field, words.length)
  const [only] = words
  if (words.length === 1 && only?.pattern !== undefined) {
    const ranking = wildcardRanking(only.pattern)
    return anyOf([query, { ...query, matcher: wildcardMatcher(only.pattern), ranking }])
  }
  const row = phraseOf({
    field: field.indexField,
    positions: words.map((word) => positionOf(word, field)),
    slop: 0,
    boost: query.boost,
  })
  return anyOf([query, row])
}

function positionOf({ offset, term, pattern = '' }: PatternWord, { indexField }: IndexedField) {
  if (term !== undefined) return { offset, terms: [term] }
  const matcher = wildcardMatcher(pattern)
  const more = { matcher, termsMax: PATTERN_TERMS_MAX, shown: `${indexField}:${pattern}` }
  return { offset, terms: [], more }
}

/**
 * Does not normalize the pattern, because letters are also operators of expressions: `\W` differs
 * from `\w`.
 */
export function resolveRegexp(query: QueryOf<'regexp'>, context: QueryContext): EngineQuery {
  const field = termField(query.field, context)
  if (field === undefined) return NOTHING
  return expand(field, regexpMatcher(query.pattern), query.boost)
}

export function resolveBool(query: QueryOf<'bool'>, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  if (hasTerms(field)) {
    return { kind: 'term', field: field.indexField, term: String(query.value), boost: query.boost }
  }
  throw refusal(query.field, `is of type ${field.kind}, and a boolean query needs type boolean`)
}

/** Words of a text are not addresses, so the keyword sub-field of a text answers if it exists. */
export function resolveNetwork(query: QueryOf<'ip'>, context: QueryContext): EngineQuery {
  const field = termField(query.field, context)
  if (field === undefined) return NOTHING
  const matcher = networkMatcher(query.cidr)
  if (matcher === undefined) {
    throw new ServiceError('INVALID_ARGUMENT', `"${query.cidr}" is not a network in CIDR notation`)
  }
  const whole = context.mapping.resolveField(field.indexField + KEYWORD_SUFFIX)
  const target = field.kind === 'text' && whole?.kind === 'keyword' ? whole : field
  return expand(target, matcher, query.boost)
}

function termField(name: FieldName, context: QueryContext): IndexedField | undefined {
  const field = context.field(name)
  if (field === undefined || hasTerms(field)) return field
  throw refusal(name, `is of type ${field.kind}, and only text and keyword fields have terms`)
}

function expand({ indexField: field }: IndexedField, matcher: TermMatcher, boost: number) {
  return { kind: 'expand', field, matcher, boost } satisfies EngineQuery
}
