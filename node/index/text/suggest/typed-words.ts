// The words of a query that a person may have mistyped: where they stand in the text of their
// clause, and the term that each of them is in each searched field.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { Query, QueryOf } from '../../../query/query-tree.ts'
import type { Analyzer, OffsetToken } from '../analysis/analyzer.ts'
import { PREFIX_SUFFIX } from '../mapping/field-names.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import type { IndexedField } from '../mapping/field-registry.ts'
import { QueryContext } from '../mapping/query-context.ts'

/** The first words of a query that are looked at. */
const WORDS_MAX = 64
/** The fields of a clause that are looked at. */
const FIELDS_MAX = 4
/** A longer word is data. */
const WORD_LENGTH_MAX = 64
const HAS_LETTER = /\p{L}/u
/** A minus that excludes the word behind it, as in a `simple` query. */
const EXCLUDES = /(?:^|\s)-$/

/** A word in one field. */
export interface FieldWord {
  readonly field: string
  readonly term: string
  readonly analyzer: Analyzer
}

/** A word of a clause, in each field that the clause searches. */
export interface TypedWord {
  /** The text of the clause. */
  readonly text: string
  /** The place of the word in the text, in UTF-16 units. */
  readonly start: number
  readonly end: number
  /** Whether the word may be the beginning of another one. */
  readonly mayContinue: boolean
  readonly inFields: FieldWord[]
}

/** The text of a clause, and how the clause reads it. */
interface TextClause {
  readonly text: string
  readonly fields: readonly (string | undefined)[]
  readonly analyzer: string | undefined
  readonly hasOpenEnd: boolean
}

/**
 * In the order of the clauses. Left out are words of exclusions and filters, stop words, words that
 * have synonyms, and tokens without a letter.
 */
export function* typedWords(query: Query, mapping: FieldMapping): Sliced<readonly TypedWord[]> {
  const context = new QueryContext(mapping)
  const words = new Map<string, TypedWord>()
  for (const leaf of scoringLeaves(query)) {
    const clause = clauseOf(leaf)
    if (clause === undefined) continue
    for (const name of clause.fields.slice(0, FIELDS_MAX)) {
      const field = context.field(name)
      if (field !== undefined && hasWords(field)) addWords(words, { leaf, clause, field, context })
      yield
    }
    if (words.size >= WORDS_MAX) break
  }
  return [...words.values()].slice(0, WORDS_MAX)
}

function scoringLeaves(query: Query): readonly Query[] {
  if (query.kind !== 'boolean') return [query]
  return [...query.must, ...query.should].flatMap(scoringLeaves)
}

function clauseOf(query: Query): TextClause | undefined {
  const { kind } = query
  if (kind === 'simple') return simpleClause(query)
  if (kind === 'match' || kind === 'phrase') {
    const { text, field, analyzer } = query
    return { text, fields: [field], analyzer, hasOpenEnd: false }
  }
  if (kind === 'multi-match') {
    return { text: query.text, fields: query.fields, analyzer: undefined, hasOpenEnd: true }
  }
  if (kind !== 'fuzzy') return undefined
  return { text: query.term, fields: [query.field], analyzer: undefined, hasOpenEnd: false }
}

function simpleClause({ text, fields }: QueryOf<'simple'>): TextClause {
  const names = fields === undefined ? [undefined] : fields.map(({ name }) => name)
  return { text, fields: names, analyzer: undefined, hasOpenEnd: !/[\s"]$/.test(text) }
}

/** Grams are parts of words. */
function hasWords({ kind, indexField }: IndexedField): boolean {
  return kind === 'keyword' || (kind === 'text' && !indexField.endsWith(PREFIX_SUFFIX))
}

interface ClausePlace {
  readonly leaf: Query
  readonly clause: TextClause
  readonly field: IndexedField
  readonly context: QueryContext
}

function addWords(words: Map<string, TypedWord>, place: ClausePlace): void {
  const { text, hasOpenEnd } = place.clause
  const tokens = tokensOf(place)
  const last = tokens.at(-1)
  for (const token of tokens) {
    const { term, start, end } = token
    if (!isWord(token) || isExcluded(place.leaf, text.slice(0, start))) continue
    const key = `${start}\0${end}\0${text}`
    const mayContinue = hasOpenEnd && token === last
    const word = words.get(key) ?? { text, start, end, mayContinue, inFields: [] }
    words.set(key, word)
    const analyzer = place.context.analyzer(place.field, place.clause.analyzer)
    word.inFields.push({ field: place.field.indexField, term, analyzer })
    if (words.size >= WORDS_MAX) return
  }
}

/** Without the words that the table's synonyms know. */
function tokensOf({ leaf, clause, field, context }: ClausePlace): readonly OffsetToken[] {
  const { text, analyzer: override } = clause
  const analyzer = context.analyzer(field, override)
  if (leaf.kind === 'fuzzy') {
    return [{ term: analyzer.normalize(text), position: 0, start: 0, end: text.length }]
  }
  const tokens = analyzer.analyzeWithOffsets(text)
  if (!context.hasSynonyms) return tokens
  const known = new Set(
    context
      .spans(field, tokens, override)
      .filter(({ alternatives }) => alternatives.length > 0)
      .flatMap((span) => span.tokens.map(({ position }) => position)),
  )
  return tokens.filter(({ position }) => !known.has(position))
}

function isWord({ term }: OffsetToken): boolean {
  return term.length <= WORD_LENGTH_MAX && HAS_LETTER.test(term)
}

function isExcluded({ kind }: Query, before: string): boolean {
  return kind === 'simple' && EXCLUDES.test(before)
}
