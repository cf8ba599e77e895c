// Marks the words of a document that a query looked for.
//
// The query is resolved again, with a mapping that learns from the documents of the hits: what their
// fields are, as the index does. Of every text the best fragments are shown, in the order in which
// they stand.

import { isServiceError } from '../../../lib/errors.ts'
import type { JsonObject } from '../../document/exact-json.ts'
import { parseFieldPath, valuesAt } from '../../document/field-path.ts'
import { queryAnalyzerOf, analyzerOf } from '../../index/text/analysis/analyzers.ts'
import type { Analyzer } from '../../index/text/analysis/analyzer.ts'
import type { EngineQuery, TermMatcher } from '../../index/text/engine-query.ts'
import { ALL_FIELD, KEYWORD_SUFFIX, PREFIX_SUFFIX } from '../../index/text/mapping/field-names.ts'
import { FieldMapping } from '../../index/text/mapping/field-mapping.ts'
import { resolveQuery } from '../../index/text/mapping/resolve-query.ts'
import type { HighlightRequest, QueryRequest } from '../../query/query-request.ts'
import type { Query } from '../../query/query-tree.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import { sketchOf } from './document-sketch.ts'
import { cutFragments, type Span } from './highlight-fragments.ts'

type IsWanted = (term: string) => boolean
type Wanted = ReadonlyMap<string, readonly IsWanted[]>

/** Characters of one document in which words are looked for. */
const HIGHLIGHT_LENGTH_MAX = 100_000

export type Highlights = Readonly<Record<string, readonly string[]>>

/** Undefined if the query asks for no highlights, or looks for no words. */
export function buildHighlighter(
  { highlight, fullText }: Pick<QueryRequest, 'highlight' | 'fullText'>,
  schema: TableSchema | undefined,
): Highlighter | undefined {
  if (highlight === undefined || fullText === undefined) return undefined
  return new Highlighter(highlight, fullText, schema)
}

export class Highlighter {
  readonly #request: HighlightRequest
  readonly #query: Query
  readonly #mapping: FieldMapping
  readonly #analyzers = new Map<string, Analyzer | undefined>()

  constructor(request: HighlightRequest, query: Query, schema: TableSchema | undefined) {
    this.#request = request
    this.#query = query
    this.#mapping = new FieldMapping(schema)
  }

  /** By field; fields without a marked word are left out. Undefined if there is none at all. */
  mark(document: JsonObject): Highlights | undefined {
    const indexed = this.#mapping.mapDocument(Buffer.alloc(0), sketchOf(document), 0)
    const wanted = wantedTerms(this.#query, this.#mapping)
    const known = indexed.fields.map(({ name }) => documentField(name))
    const fields =
      this.#request.fields ?? [...new Set(known)].filter((name) => this.#isAskedFor(wanted, name))
    const budget = { charactersLeft: HIGHLIGHT_LENGTH_MAX }
    const marked = fields.flatMap((field) => {
      const texts = beginningsOf(document, field, budget)
      const spans = texts.map((text) => ({ text, spans: this.#spansOf(text, field, wanted) }))
      const fragments = cutFragments(spans, this.#request)
      return fragments.length === 0 ? [] : [[field, fragments] as const]
    })
    return marked.length === 0 ? undefined : Object.fromEntries(marked)
  }

  #isAskedFor(wanted: Wanted, field: string): boolean {
    return field !== ALL_FIELD && this.#indexFieldsOf(field).some((name) => wanted.has(name))
  }

  /** The index fields into which the field's texts go. */
  #indexFieldsOf(field: string): readonly string[] {
    const own = [field, `${field}${KEYWORD_SUFFIX}`, `${field}${PREFIX_SUFFIX}`]
    return this.#mapping.isInAll(field) ? [...own, ALL_FIELD] : own
  }

  #spansOf(text: string, field: string, wanted: Wanted): readonly Span[] {
    const spans = this.#indexFieldsOf(field).flatMap((name) => {
      const tests = wanted.get(name) ?? []
      const analyzer = tests.length === 0 ? undefined : this.#analyzerOf(name, field)
      const tokens = analyzer?.analyzeWithOffsets(text) ?? []
      return tokens
        .filter(({ term }) => tests.some((isWanted) => isWanted(term)))
        .map(({ start, end, term }) => ({ start, end, term }))
    })
    return spans.toSorted((a, b) => a.start - b.start || a.end - b.end)
  }

  /** Text in the default field went through the analyzer of the field that it comes from. */
  #analyzerOf(indexField: string, field: string): Analyzer | undefined {
    const own = this.#mapping.resolveField(indexField === ALL_FIELD ? field : indexField)
    if (own === undefined || own.kind === 'unindexed') return undefined
    const name = own.kind === 'text' ? (own.analyzer ?? 'standard') : 'keyword'
    if (!this.#analyzers.has(name)) {
      this.#analyzers.set(name, analyzerOf(name) ?? queryAnalyzerOf(name))
    }
    return this.#analyzers.get(name)
  }
}

/** The document field whose values an index field holds. */
function documentField(indexField: string): string {
  const suffix = [KEYWORD_SUFFIX, PREFIX_SUFFIX].find((one) => indexField.endsWith(one))
  return suffix === undefined ? indexField : indexField.slice(0, -suffix.length)
}

/** The field's texts, as far as the budget goes. */
function beginningsOf(
  document: JsonObject,
  field: string,
  budget: { charactersLeft: number },
): readonly string[] {
  const texts: string[] = []
  for (const value of valuesAt(document, parseFieldPath(field, 'highlight.fields'))) {
    if (budget.charactersLeft <= 0) break
    if (typeof value !== 'string') continue
    texts.push(wholeWords(value, budget.charactersLeft))
    budget.charactersLeft -= value.length
  }
  return texts
}

/** A word that is cut off could be taken for another one. */
function wholeWords(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text
  return text.slice(0, lengthMax).replace(/\S{1,200}$/, '')
}

/** By index field, what tells the terms that make a document a hit; exclusions are none. */
function wantedTerms(query: Query, mapping: FieldMapping): Wanted {
  const wanted = new Map<string, IsWanted[]>()
  for (const part of leavesOf(query)) {
    addTerms(resolvedOrNothing(part, mapping), (field, isWanted) => {
      wanted.set(field, [...(wanted.get(field) ?? []), isWanted])
    })
  }
  return wanted
}

function leavesOf(query: Query): readonly Query[] {
  if (query.kind !== 'boolean') return [query]
  return [...query.must, ...query.should, ...query.filter].flatMap(leavesOf)
}

/** A field may be something else in this document than in the index, which has found it elsewhere. */
function resolvedOrNothing(query: Query, mapping: FieldMapping): EngineQuery {
  try {
    return resolveQuery(query, mapping).query
  } catch (error) {
    if (isServiceError(error)) return { kind: 'none' }
    throw error
  }
}

function addTerms(query: EngineQuery, add: (field: string, isWanted: IsWanted) => void): void {
  if (query.kind === 'term') add(query.field, (term) => term === query.term)
  if (query.kind === 'expand') add(query.field, isMatchOf(query.matcher))
  if (query.kind === 'phrase') {
    const terms = new Set(query.positions.flatMap((position) => position.terms))
    add(query.field, (term) => terms.has(term))
    for (const { more } of query.positions) {
      if (more !== undefined) add(query.field, isMatchOf(more.matcher))
    }
  }
  // A match of several words, and fields of which one is enough.
  const parts = query.kind === 'boolean' ? [...query.must, ...query.should] : []
  for (const part of query.kind === 'best' ? query.parts : parts) addTerms(part, add)
}

function isMatchOf(matcher: TermMatcher): IsWanted {
  const { prefix, upTo } = matcher
  return (term) => {
    const isNear = term.startsWith(prefix) && (upTo === undefined || term <= upTo)
    return isNear && matcher.matches(term)
  }
}
