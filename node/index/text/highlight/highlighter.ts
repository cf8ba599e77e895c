// Highlights the words of a document that match a query.
//
// The query is resolved again, with a mapping that knows the fields of the index. Of each text, the
// best fragments are shown, in their order in the text.

import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { parseExact, type JsonObject } from '../../../document/exact-json.ts'
import { parseFieldPath, valuesAt } from '../../../document/field-path.ts'
import { isJsonObject } from '../../../document/json-object.ts'
import type { HighlightRequest } from '../../../query/request/query-request.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import type { Analyzer, OffsetToken } from '../analysis/analyzer.ts'
import { Poll } from '../poll.ts'
import { ALL_FIELD, KEYWORD_SUFFIX, PREFIX_SUFFIX } from '../mapping/field-names.ts'
import { VALUE_POSITION_GAP } from '../mapping/document-fields.ts'
import { FieldMapping } from '../mapping/field-mapping.ts'
import type { IndexableDocument } from '../indexable-document.ts'
import type { TableAnalysis } from '../mapping/table-analysis.ts'
import type { TableField } from '../../../schema/table-field.ts'
import type { Highlights, TextHighlightRequest } from '../search/text-search.ts'
import { sketchOf } from './document-sketch.ts'
import { cutFragments, type MarkedText, type Span } from './highlight-fragments.ts'
import { PhraseMarker } from './wanted-phrases.ts'
import { wantedTerms, type WantedInField, type WantedTerms } from './wanted-terms.ts'

/** How many characters of one document are searched for matches. */
const HIGHLIGHT_LENGTH_MAX = 100_000
/** How many values of one document are searched. */
const HIGHLIGHT_TEXTS_MAX = 10_000
const TOKEN_COST = 4

/** The fields that the index knows. */
export interface IndexedFields {
  readonly schema: TableSchema | undefined
  /** The index's analyzers and synonyms. Default: built again from the schema. */
  readonly analysis?: TableAnalysis
  readonly fields: readonly TableField[]
}

/** Highlights each document. A document without a match is undefined. */
export function* highlightTexts(
  { query, highlight, documents }: TextHighlightRequest,
  { schema, analysis, fields }: IndexedFields,
): Sliced<readonly (Highlights | undefined)[]> {
  const mapping = new FieldMapping(schema, [], analysis)
  yield* mapping.learnInSteps(fields)
  const highlighter = new Highlighter({ query, highlight }, mapping)
  const marked: (Highlights | undefined)[] = []
  for (const json of documents) {
    const document = parseExact(Buffer.from(json.buffer, json.byteOffset, json.byteLength))
    yield
    marked.push(
      yield* highlighter.mark(
        must(isJsonObject(document) ? document : undefined, 'an object as a stored document'),
      ),
    )
  }
  return marked
}

class Highlighter {
  readonly #request: HighlightRequest
  readonly #query: TextHighlightRequest['query']
  readonly #mapping: FieldMapping
  readonly #poll = new Poll()
  /** The terms for the current number of known fields. */
  #wanted: { readonly fieldCount: number; readonly terms: WantedTerms } | undefined

  constructor(
    { query, highlight }: Pick<TextHighlightRequest, 'query' | 'highlight'>,
    mapping: FieldMapping,
  ) {
    this.#request = highlight
    this.#query = query
    this.#mapping = mapping
  }

  /** The fragments by field. Fields without a match are left out. Undefined if no field matches. */
  *mark(document: JsonObject): Sliced<Highlights | undefined> {
    const sketch = yield* sketchOf(document)
    const indexed = yield* this.#indexed(sketch)
    const wanted = yield* this.#wantedTerms()
    const known = new Set(indexed.fields.map(({ name }) => documentField(name)))
    const fields =
      this.#request.fields ?? [...known].filter((name) => this.#isAskedFor(wanted, name))
    const budget = { charactersLeft: HIGHLIGHT_LENGTH_MAX, textsLeft: HIGHLIGHT_TEXTS_MAX }
    const marked: [string, readonly string[]][] = []
    for (const field of fields) {
      const texts = yield* this.#marked(beginningsOf(document, field, budget), field, wanted)
      const fragments = yield* cutFragments(texts, {
        ...this.#request,
        isHtml: this.#isHtml(field),
        poll: this.#poll,
      })
      if (fragments.length > 0) marked.push([field, fragments])
    }
    return marked.length === 0 ? undefined : Object.fromEntries(marked)
  }

  /** The document itself decides the fields that the index does not know yet. */
  *#indexed(document: JsonObject): Sliced<IndexableDocument> {
    for (;;) {
      const indexed = yield* this.#mapping.mapDocumentInSteps(Buffer.alloc(0), document, 0)
      if (indexed !== undefined) return indexed
      yield* this.#mapping.learnInSteps(this.#mapping.takeUndecided())
    }
  }

  *#wantedTerms(): Sliced<WantedTerms> {
    const fieldCount = this.#mapping.fields.length
    if (this.#wanted?.fieldCount === fieldCount) return this.#wanted.terms
    const terms = yield* wantedTerms(this.#query, this.#mapping)
    this.#wanted = { fieldCount, terms }
    return terms
  }

  #isAskedFor(wanted: WantedTerms, field: string): boolean {
    return field !== ALL_FIELD && this.#indexFieldsOf(field).some((name) => wanted.has(name))
  }

  /** The index fields that hold the field's texts. */
  #indexFieldsOf(field: string): readonly string[] {
    const own = [field, `${field}${KEYWORD_SUFFIX}`, `${field}${PREFIX_SUFFIX}`]
    return this.#mapping.isInAll(field) ? [...own, ALL_FIELD] : own
  }

  *#marked(
    values: readonly string[],
    field: string,
    wanted: WantedTerms,
  ): Sliced<readonly MarkedText[]> {
    const texts = values.map((text): OpenText => ({ text, spans: [] }))
    for (const name of this.#indexFieldsOf(field)) {
      const inField = wanted.get(name)
      const analyzer = inField === undefined ? undefined : this.#analyzerOf(name, field)
      if (inField === undefined || analyzer === undefined) continue
      yield* this.#addSpans(texts, { analyzer, inField })
    }
    return texts.map(({ text, spans }) => {
      return { text, spans: spans.toSorted((a, b) => a.start - b.start || a.end - b.end) }
    })
  }

  /** Words of phrases are marked when all texts are read: a wide phrase spans several values. */
  *#addSpans(
    texts: readonly OpenText[],
    { analyzer, inField }: { readonly analyzer: Analyzer; readonly inField: WantedInField },
  ): Sliced<void> {
    const phrases = new PhraseMarker(inField.phrases, this.#poll)
    let shift = 0
    for (const { text, spans } of texts) {
      const tokens: OffsetToken[] = []
      yield* analyzer.analyzeInSteps(text, (term, position, start, end) => {
        tokens.push({ term, position, start, end })
      })
      for (const { term, position, start, end } of tokens) {
        const word = new MarkableWord({ term, start, end }, spans)
        if (inField.knows(term) ?? (yield* inField.test(term, this.#poll))) word.mark()
        yield* phrases.take(term, shift + position, word)
        if (this.#poll.spend(TOKEN_COST)) yield this.#poll.renewed()
      }
      const last = tokens.at(-1)
      if (last !== undefined) shift += last.position + VALUE_POSITION_GAP
    }
    yield* phrases.markAll()
  }

  #isHtml(field: string): boolean {
    const own = this.#mapping.resolveField(field)
    return own?.kind === 'text' && (own.analyzer ?? '').startsWith('html')
  }

  /** The analyzer of a text. Text in the default field was analyzed by its own field's analyzer. */
  #analyzerOf(indexField: string, field: string): Analyzer | undefined {
    const own = this.#mapping.resolveField(indexField === ALL_FIELD ? field : indexField)
    if (own === undefined || own.kind === 'unindexed') return undefined
    const name = own.kind === 'text' ? (own.analyzer ?? 'standard') : 'keyword'
    return this.#mapping.analysis.ofDocuments(name)
  }
}

interface OpenText {
  readonly text: string
  readonly spans: Span[]
}

/** A word of a text, which gets one mark at most. */
class MarkableWord {
  readonly #span: Span
  readonly #spans: Span[]
  #isMarked = false

  constructor(span: Span, spans: Span[]) {
    this.#span = span
    this.#spans = spans
  }

  mark(): void {
    if (!this.#isMarked) this.#spans.push(this.#span)
    this.#isMarked = true
  }
}

/** The document field whose values an index field holds. */
function documentField(indexField: string): string {
  const suffix = [KEYWORD_SUFFIX, PREFIX_SUFFIX].find((one) => indexField.endsWith(one))
  return suffix === undefined ? indexField : indexField.slice(0, -suffix.length)
}

/** The field's texts, as far as the budget allows. */
function beginningsOf(
  document: JsonObject,
  field: string,
  budget: { charactersLeft: number; textsLeft: number },
): readonly string[] {
  const texts: string[] = []
  for (const value of valuesAt(document, parseFieldPath(field, 'highlight.fields'))) {
    if (budget.charactersLeft <= 0 || budget.textsLeft <= 0) break
    if (typeof value !== 'string') continue
    texts.push(wholeWords(value, budget.charactersLeft))
    budget.charactersLeft -= value.length
    budget.textsLeft -= 1
  }
  return texts
}

/** Drops a word that is cut, because the rest could match another term. */
function wholeWords(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text
  return text.slice(0, lengthMax).replace(/\S{1,200}$/, '')
}
