// Resolves queries whose text goes through the field's analyzer: match, phrase, multi-match.

import { distanceOf } from '../../../query/edit-distance.ts'
import { isCompound, piecesOf } from '../analysis/identifier-parts.ts'
import { NOTHING } from './query-context.ts'
import { dateRange, numberRange } from './resolve-range.ts'
import { fuzzyMatcher, fuzzyRanking, prefixMatcher, prefixRanking } from './term-matchers.ts'
import { PREFIX_SUFFIX } from './field-names.ts'
import {
  anyOf,
  phraseOf,
  phraseWordings,
  withSynonyms,
  wordingQuery,
  type PhraseTerms,
} from './synonym-queries.ts'
import type { EngineQuery, Expansion } from '../engine-query.ts'
import type { IndexableToken } from '../indexable-document.ts'
import type { Fuzziness, QueryBounds, QueryOf } from '../../../query/query-tree.ts'
import type { IndexedField } from './field-registry.ts'
import type { QueryContext } from './query-context.ts'

/** The score of a word's parts, as a share of that of the whole word. */
const PARTS_SHARE = 0.25
/** The limit of alternatives for one word of a fuzzy phrase, because each is walked by itself. */
const PHRASE_TERMS_MAX = 1024

export function resolveMatch(query: QueryOf<'match'>, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  const { boost } = query
  if (!hasTerms(field)) return exactValue(field, query.text, boost, context)
  const tokens = distinct(tokensOf(field, query.text, query.analyzer, context))
  // Each part gets the boost, so a single term needs no query around it.
  const parts = context.spans(field, tokens, query.analyzer).map((span) => {
    const own = span.tokens.map(({ term }) =>
      fuzzyTerm({ field: field.indexField, term, ...fuzzinessOf(query) }, boost),
    )
    return withSynonyms(combine(own, query.operator), span, { field, boost })
  })
  const whole = combine(parts, query.operator)
  const inParts = compoundTerms(field, query.text, context).map((term): EngineQuery => {
    return { kind: 'term', field: field.indexField, term, boost: boost * PARTS_SHARE }
  })
  return inParts.length === 0 ? whole : anyOf([whole, combine(inParts, query.operator)])
}

/** The terms of a text in which words that are put together are taken apart; none without such words. */
export function compoundTerms(
  field: IndexedField,
  text: string,
  context: QueryContext,
): readonly string[] {
  if (field.kind !== 'text' || !isCompound(text)) return []
  const words = text.split(/\s+/).flatMap((word) => {
    const parts = piecesOf(word)
    return parts.length === 0 ? [word] : parts
  })
  const tokens = context.analyzer(field, undefined).analyze(words.join(' '))
  context.takeTerms(field, tokens.length)
  return [...new Set(tokens.map(({ term }) => term))]
}

export function resolvePhrase(query: QueryOf<'phrase'>, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  const { boost, slop } = query
  if (!hasTerms(field)) return exactValue(field, query.text, boost, context)
  const tokens = tokensOf(field, query.text, query.analyzer, context)
  const spans = context.spans(field, tokens, query.analyzer)
  const { fuzziness } = query
  const own = (term: string): PhraseTerms => {
    const more = fuzzyExpansion({ field: field.indexField, term, fuzziness, prefixLength: 0 })
    return more === undefined ? { terms: [term] } : { terms: [], more }
  }
  const { wordings, isCut } = phraseWordings(spans, own)
  if (isCut) context.warn('the phrase has too many synonyms: some ways to say it were left out')
  return anyOf(
    wordings.map((positions) => phraseOf({ field: field.indexField, positions, slop, boost })),
  )
}

export function resolvePhraseTerms(query: QueryOf<'phrase-terms'>, context: QueryContext) {
  const field = context.field(query.field)
  if (field === undefined || !hasTerms(field)) return NOTHING
  const positions = query.positions.map((terms, offset) => ({ offset, terms }))
  if (positions.length === 0 || positions.some(({ terms }) => terms.length === 0)) return NOTHING
  const { slop, boost } = query
  context.takeTerms(
    field,
    positions.reduce((sum, { terms }) => sum + terms.length, 0),
  )
  return phraseOf({ field: field.indexField, positions, slop, boost })
}

/** Only the best field scores, so that a word in two fields does not count twice. */
export function resolveMultiMatch(query: QueryOf<'multi-match'>, context: QueryContext) {
  const parts = query.fields.map((name) => {
    const field = context.field(name)
    return field === undefined ? NOTHING : prefixMatch(field, query, context)
  })
  const useful = parts.filter(({ kind }) => kind !== 'none')
  if (useful.length === 0) return NOTHING
  return { kind: 'best', parts: useful, boost: query.boost } satisfies EngineQuery
}

function prefixMatch(
  field: IndexedField,
  { text, fuzziness }: QueryOf<'multi-match'>,
  context: QueryContext,
): EngineQuery {
  if (!hasTerms(field)) return NOTHING
  const tokens = tokensOf(field, text, undefined, context)
  const terms = tokens.map(({ term }) => term)
  const analyzer = context.analyzer(field, undefined)
  const begun = analyzer.normalize(text.trim())
  // Also a stop word may still grow. Alone, it is the beginning of another word.
  const last = terms.at(-1) ?? (analyzer.beginsStopWord(begun) ? begun : undefined)
  if (last === undefined || last === '') return NOTHING
  // In a field of grams, every prefix that is long enough is a term.
  const isGram = field.indexField.endsWith(PREFIX_SUFFIX) && last.length > 1
  const prefix: EngineQuery = {
    kind: 'expand',
    field: field.indexField,
    matcher: prefixMatcher(last),
    boost: 1,
    ranking: prefixRanking(last),
  }
  const isExact = distanceOf(last, fuzziness) === 0
  const whole = (isGram || !isExact ? terms : terms.slice(0, -1)).map((term) => {
    return fuzzyTerm({ field: field.indexField, term, fuzziness, prefixLength: 0 }, 1)
  })
  const synonyms = context
    .spans(field, tokens)
    .flatMap(({ alternatives }) =>
      alternatives.map((one) => wordingQuery(one, { field, boost: 1 })),
    )
  return combine([...whole, ...(isGram ? [] : [prefix]), ...synonyms], 'or')
}

/** The text is the value itself in a field without words: a number, date, boolean or point. */
export function exactValue(
  field: IndexedField,
  text: string,
  boost: number,
  context: QueryContext,
): EngineQuery {
  const { kind, indexField } = field
  if (kind === 'point' || kind === 'shape') {
    context.warn(`field "${indexField}" contains ${kind}s, which only geo queries find`)
    return NOTHING
  }
  const about = { field, name: indexField, boost }
  return kind === 'date'
    ? dateRange({ ...about, bounds: only(text) })
    : numberRange({ ...about, bounds: only(text) })
}

function only<Value>(value: Value): QueryBounds<Value> {
  return { min: value, max: value, inclusiveMin: true, inclusiveMax: true }
}

export function hasTerms({ kind }: IndexedField): boolean {
  return kind === 'text' || kind === 'keyword' || kind === 'boolean'
}

interface FuzzyTerm {
  readonly field: string
  readonly term: string
  readonly fuzziness: Fuzziness
  readonly prefixLength: number
}

export function fuzzyTerm(fuzzy: FuzzyTerm, boost: number): EngineQuery {
  const { field, term } = fuzzy
  const expansion = fuzzyExpansion(fuzzy)
  if (expansion === undefined) return { kind: 'term', field, term, boost }
  const distance = distanceOf(term, fuzzy.fuzziness)
  const ranking = fuzzyRanking(term, { distance, prefixLength: fuzzy.prefixLength })
  return { kind: 'expand', field, matcher: expansion.matcher, boost, ranking }
}

/** Undefined if only the term itself is close enough. */
function fuzzyExpansion({
  field,
  term,
  fuzziness,
  prefixLength,
}: FuzzyTerm): Expansion | undefined {
  const distance = distanceOf(term, fuzziness)
  if (distance === 0) return undefined
  return {
    matcher: fuzzyMatcher(term, { distance, prefixLength }),
    termsMax: PHRASE_TERMS_MAX,
    shown: `${field}:${term}~${distance}`,
  }
}

function fuzzinessOf({ fuzziness, prefixLength }: QueryOf<'match'>) {
  return { fuzziness, prefixLength }
}

/** The first of each term. */
function distinct(tokens: readonly IndexableToken[]): readonly IndexableToken[] {
  const byTerm = new Map<string, IndexableToken>()
  for (const token of tokens) if (!byTerm.has(token.term)) byTerm.set(token.term, token)
  return byTerm.size === tokens.length ? tokens : [...byTerm.values()]
}

function tokensOf(
  field: IndexedField,
  text: string,
  analyzer: string | undefined,
  context: QueryContext,
): readonly IndexableToken[] {
  const tokens = context.analyzer(field, analyzer).analyze(text)
  context.takeTerms(field, tokens.length)
  if (tokens.length === 0) {
    context.warn(`"${text.slice(0, 100)}" contains only stop words and signs`)
  }
  return tokens
}

export function combine(parts: readonly EngineQuery[], operator: 'or' | 'and'): EngineQuery {
  const [first] = parts
  if (first === undefined) return NOTHING
  if (parts.length === 1) return first
  const isAnd = operator === 'and'
  return {
    kind: 'boolean',
    must: isAnd ? parts : [],
    should: isAnd ? [] : parts,
    minShould: isAnd ? 0 : 1,
    mustNot: [],
    filter: [],
    boost: 1,
  }
}
