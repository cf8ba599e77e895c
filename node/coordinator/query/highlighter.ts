// Marks the words of a document that a query looked for.
//
// The query is resolved again, with a mapping that learns from the documents of the hits: what their
// fields are, as the index does. Of every text the best fragments are shown, in the order in which
// they stand.

import type { JsonObject } from '../../document/exact-json.ts'
import { parseFieldPath, valuesAt } from '../../document/field-path.ts'
import { queryAnalyzerOf, analyzerOf } from '../../index/text/analysis/analyzers.ts'
import type { Analyzer } from '../../index/text/analysis/analyzer.ts'
import type { EngineQuery } from '../../index/text/engine-query.ts'
import { ALL_FIELD, KEYWORD_SUFFIX, PREFIX_SUFFIX } from '../../index/text/mapping/field-names.ts'
import { FieldMapping } from '../../index/text/mapping/field-mapping.ts'
import { resolveQuery } from '../../index/text/mapping/resolve-query.ts'
import type { HighlightRequest, QueryRequest } from '../../query/query-request.ts'
import type { Query } from '../../query/query-tree.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import { cutFragments, type Span } from './highlight-fragments.ts'

type IsWanted = (term: string) => boolean

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
    const indexed = this.#mapping.mapDocument(Buffer.alloc(0), document, 0)
    const wanted = wantedTerms(resolveQuery(this.#query, this.#mapping).query)
    const known = indexed.fields.map(({ name }) => documentField(name))
    const fields =
      this.#request.fields ?? [...new Set(known)].filter((name) => isAskedFor(wanted, name))
    const marked = fields.flatMap((field) => {
      const fragments = this.#fragmentsOf(document, field, wanted)
      return fragments.length === 0 ? [] : [[field, fragments] as const]
    })
    return marked.length === 0 ? undefined : Object.fromEntries(marked)
  }

  #fragmentsOf(
    document: JsonObject,
    field: string,
    wanted: ReadonlyMap<string, readonly IsWanted[]>,
  ): readonly string[] {
    const texts = valuesAt(document, parseFieldPath(field, 'highlight.fields')).filter(
      (value) => typeof value === 'string',
    )
    const marks = this.#request
    return cutFragments(
      texts.map((text) => ({ text, spans: this.#spansOf(text, field, wanted) })),
      marks,
    )
  }

  #spansOf(
    text: string,
    field: string,
    wanted: ReadonlyMap<string, readonly IsWanted[]>,
  ): readonly Span[] {
    const analyzed = [field, `${field}${KEYWORD_SUFFIX}`, `${field}${PREFIX_SUFFIX}`, ALL_FIELD]
    const spans = analyzed.flatMap((name) => {
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

function isAskedFor(wanted: ReadonlyMap<string, readonly IsWanted[]>, field: string): boolean {
  if (field === ALL_FIELD) return false
  return [field, `${field}${KEYWORD_SUFFIX}`, `${field}${PREFIX_SUFFIX}`, ALL_FIELD].some((name) =>
    wanted.has(name),
  )
}

/** The document field whose values an index field holds. */
function documentField(indexField: string): string {
  const suffix = [KEYWORD_SUFFIX, PREFIX_SUFFIX].find((one) => indexField.endsWith(one))
  return suffix === undefined ? indexField : indexField.slice(0, -suffix.length)
}

/** By index field, what tells the terms that make a document a hit; exclusions are none. */
function wantedTerms(query: EngineQuery): ReadonlyMap<string, readonly IsWanted[]> {
  const wanted = new Map<string, IsWanted[]>()
  const add = (field: string, isWanted: IsWanted): void => {
    wanted.set(field, [...(wanted.get(field) ?? []), isWanted])
  }
  const visit = (part: EngineQuery): void => {
    if (part.kind === 'term') add(part.field, (term) => term === part.term)
    if (part.kind === 'expand') {
      const { prefix, upTo } = part.matcher
      add(part.field, (term) => {
        const isNear = term.startsWith(prefix) && (upTo === undefined || term <= upTo)
        return isNear && part.matcher.matches(term)
      })
    }
    if (part.kind === 'phrase') {
      const terms = new Set(part.positions.flatMap((position) => position.terms))
      add(part.field, (term) => terms.has(term))
    }
    if (part.kind === 'boolean') [...part.must, ...part.should, ...part.filter].forEach(visit)
    if (part.kind === 'best') part.parts.forEach(visit)
  }
  visit(query)
  return wanted
}
