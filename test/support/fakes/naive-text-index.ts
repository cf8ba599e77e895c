// Applies BM25's formula to every document in turn. Tests compare the engine with it. It shares only the
// types and the quantised lengths with the engine.

import { unreachable } from '../../../lib/assert.ts'
import type {
  EngineQuery,
  TermRanking,
  TermsInField,
} from '../../../node/index/text/engine-query.ts'
import type { SortField } from '../../../node/index/text/matching/sorted-hits.ts'
import type { SortValue } from '../../../node/query/request/query-cursor.ts'
import type {
  IndexableDocument,
  IndexableField,
} from '../../../node/index/text/indexable-document.ts'
import { byteOfLength, lengthOfByte } from '../../../node/index/text/encoding/small-float.ts'
import { tokensOf } from '../worlds/field-tokens.ts'

export interface NaiveHit {
  readonly key: string
  readonly score: number
  /** The values of the order; undefined for a search by score. */
  readonly sortValues?: readonly SortValue[]
}

export interface NaiveSearch {
  readonly query: EngineQuery
  readonly nowMs: number
  readonly filter?: EngineQuery
  /** Default: the best scores first. Equal hits are in ascending order of keys. */
  readonly sort?: readonly SortField[]
  /** The documents that statistics are about, if they are not this index's own. */
  readonly collection?: readonly NaiveTextIndex[]
}

type ExpandQuery = Extract<EngineQuery, { kind: 'expand' }>

interface CloseTerm {
  readonly term: string
  readonly closeness: number
}

export class NaiveTextIndex {
  readonly documents = new Map<string, IndexableDocument>()
  /** Counts over a collection, by what was counted; forgotten with every change of this index. */
  #counts = new Map<string, number>()
  #closest = new Map<TermRanking, readonly CloseTerm[]>()
  #counted: readonly NaiveTextIndex[] = [this]

  upsert(document: IndexableDocument): void {
    this.#forget()
    this.documents.set(textOf(document.key), document)
  }

  delete(key: Uint8Array): void {
    this.#forget()
    this.documents.delete(textOf(key))
  }

  get(key: Uint8Array): IndexableDocument | undefined {
    return this.documents.get(textOf(key))
  }

  /** Every hit in its order. */
  search({ query, nowMs, filter, sort, collection = [this] }: NaiveSearch): readonly NaiveHit[] {
    if (collection.length > 1 || this.#counted.length > 1) this.#forget()
    this.#counted = collection
    const hits: NaiveHit[] = []
    for (const [key, document] of this.documents) {
      if (document.expiresAtMs > 0 && document.expiresAtMs <= nowMs) continue
      if (filter !== undefined && this.#score(document, filter) === undefined) continue
      const exact = this.#score(document, query)
      if (exact === undefined) continue
      const score = Math.fround(exact)
      if (sort === undefined) hits.push({ key, score })
      else hits.push({ key, score, sortValues: sort.map((by) => sortValueOf(by, document, score)) })
    }
    return hits.toSorted(sort === undefined ? compareScores : (a, b) => compareBy(sort, a, b))
  }

  #forget(): void {
    this.#counts.clear()
    this.#closest.clear()
  }

  /** Undefined if the document does not match. */
  #score(document: IndexableDocument, query: EngineQuery): number | undefined {
    if (isConstant(query)) return this.#constant(document, query)
    switch (query.kind) {
      case 'none':
        return undefined
      case 'all':
        return query.boost
      case 'term':
        return this.#bm25(
          document,
          query,
          [query.alike ?? { field: query.field, terms: [query.term] }],
          frequencyOf(document, query),
        )
      case 'phrase': {
        const frequency = phraseFrequency(document, query)
        return this.#bm25(
          document,
          query,
          query.alike ?? query.positions.map(({ terms }) => ({ field: query.field, terms })),
          frequency,
        )
      }
      case 'whole':
        return this.#whole(document, query)
      case 'boolean':
        return this.#boolean(document, query)
      case 'best': {
        const scores = query.parts.map((part) => this.#score(document, part))
        const found = scores.filter((score) => score !== undefined)
        return found.length === 0 ? undefined : Math.max(...found) * query.boost
      }
      default:
        return unreachable(query)
    }
  }

  #constant(document: IndexableDocument, query: ConstantQuery): number | undefined {
    if (query.kind === 'expand' && query.scoredIn !== undefined) {
      return this.#nearest(document, query)
    }
    if (!matchesConstant(document, query)) return undefined
    return query.kind === 'expand' ? this.#ranked(document, query) : query.boost
  }

  /** The closest terms score by BM25 under the idf of the most frequent, all others 0.1. */
  #ranked(document: IndexableDocument, query: ExpandQuery): number {
    const { field, boost, ranking } = query
    if (ranking === undefined) return boost
    const matching = this.#matchingTerms(query, ranking)
    const closest = matching.slice(0, ranking.termsMax)
    const alike = { field, terms: closest.map(({ term }) => term) }
    let score = matching.length > closest.length ? boost * 0.1 : 0
    for (const { term, closeness } of closest) {
      const one = { field, term, boost: boost * closeness }
      score += this.#bm25(document, one, [alike], frequencyOf(document, one)) ?? 0
    }
    return score
  }

  /** The best of the closest terms, in another field. */
  #nearest(document: IndexableDocument, query: ExpandQuery): number | undefined {
    const { field, boost, ranking, scoredIn = field, shapedIn } = query
    if (ranking === undefined) return undefined
    const closest = this.#matchingTerms(query, ranking).slice(0, ranking.termsMax)
    const alike = { field, terms: closest.map(({ term }) => term) }
    const scores = closest.flatMap(({ term, closeness }) => {
      const weighed = {
        field: scoredIn,
        boost: boost * closeness,
        ...(shapedIn !== undefined && { shapedIn }),
      }
      return (
        this.#bm25(document, weighed, [alike], frequencyOf(document, { field: scoredIn, term })) ??
        []
      )
    })
    return scores.length === 0 ? undefined : Math.max(...scores)
  }

  /** The matching terms of all documents, with the closest first. */
  #matchingTerms({ matcher, field }: ExpandQuery, ranking: TermRanking): readonly CloseTerm[] {
    const remembered = this.#closest.get(ranking)
    if (remembered !== undefined) return remembered
    const known = this.#counted.flatMap(({ documents }) => [...documents.values()])
    const all = new Set(known.flatMap((other) => termsOf(fieldOf(other, field))))
    const matching = [...all]
      .filter((term) => term.startsWith(matcher.prefix) && matcher.matches(term))
      .map((term) => ({ term, closeness: ranking.closeness(term) }))
      .toSorted((a, b) => b.closeness - a.closeness || compareUtf8(a.term, b.term))
    this.#closest.set(ranking, matching)
    return matching
  }

  #boolean(
    document: IndexableDocument,
    query: Extract<EngineQuery, { kind: 'boolean' }>,
  ): number | undefined {
    const scores = (parts: readonly EngineQuery[]) =>
      parts.map((part) => this.#score(document, part))
    const must = scores(query.must)
    const filter = scores(query.filter)
    const should = scores(query.should).filter((score) => score !== undefined)
    if ([...must, ...filter].includes(undefined)) return undefined
    if (scores(query.mustNot).some((score) => score !== undefined)) return undefined
    const parts = query.must.length + query.filter.length
    if (parts + query.should.length + query.mustNot.length === 0) return undefined
    const needed = parts === 0 && query.should.length > 0 ? 1 : 0
    if (should.length < Math.max(query.minShould, needed)) return undefined
    return [...must, ...should].reduce<number>((sum, score) => sum + (score ?? 0), 0) * query.boost
  }

  /** Constant for all documents whose value it is. */
  #whole(
    document: IndexableDocument,
    query: Extract<EngineQuery, { kind: 'whole' }>,
  ): number | undefined {
    const isWhole = query.forms.some((form) => {
      if (form.kind === 'keyword') {
        return termsOf(fieldOf(document, form.field)).some(
          (term) => term.startsWith(form.matcher.prefix) && form.matcher.matches(term),
        )
      }
      const { positions } = form
      const phrase = { kind: 'phrase', field: query.field, positions, slop: 0, boost: 1 } as const
      const length = byteOfLength(lengthOf(document, query.field))
      return length === form.length && phraseFrequency(document, phrase) > 0
    })
    if (!isWhole) return undefined
    const known = query.value
    const docFreq = known === undefined ? 1 : this.#docFreq(known.field, known.term)
    const share = docFreq >= 1 && docFreq <= 3 ? 1 : 0.2
    return query.boost * share * this.#shape(query) * this.#rarity(query.alike)
  }

  #bm25(
    document: IndexableDocument,
    query: { readonly field: string; readonly boost: number; readonly shapedIn?: string },
    parts: readonly TermsInField[],
    frequency: number,
  ): number | undefined {
    if (frequency === 0) return undefined
    const { field, boost } = query
    const isText = fieldOf(document, field)?.kind === 'text'
    const own = isText ? lengthOf(document, field) : 0
    const lengthRatio = own > 0 ? own / this.#averageLength(field) : 1
    const weight = this.#rarity(parts) * boost * this.#shape(query)
    return (weight * (frequency * 2.2)) / (frequency + 1.2 * (1 - 0.75 + 0.75 * lengthRatio))
  }

  /** The sum of the idf of the parts, each as frequent as the most frequent of its terms. */
  #rarity(parts: readonly TermsInField[]): number {
    const idf = parts.map(({ field, terms }) => {
      const docCount = this.#docCount(field)
      const n = Math.max(...terms.map((term) => this.#docFreq(field, term)))
      return Math.log(1 + (docCount - n + 0.5) / (n + 0.5))
    })
    return idf.reduce((sum, value) => sum + value, 0)
  }

  #shape({ field, shapedIn }: { readonly field: string; readonly shapedIn?: string }): number {
    if (shapedIn === undefined) return 1
    const withField = this.#withField(field)
    if (withField === 0) return 1
    const links = Math.max(this.#docFreq(field, 'http'), this.#docFreq(field, 'https'))
    if (links > withField / 2) return 0.1
    const coverage = Math.sqrt(withField / Math.max(withField, this.#docCount(shapedIn)))
    const brevity = Math.sqrt(8 / this.#averageLength(field))
    return Math.min(1.5, Math.max(0.25, brevity)) * coverage
  }

  #withField(field: string): number {
    return this.#count(`${field} documents`, (other) => (lengthOf(other, field) > 0 ? 1 : 0))
  }

  #averageLength(field: string): number {
    return (
      this.#count(`${field} lengths`, (other) => lengthOf(other, field)) / this.#withField(field)
    )
  }

  /** The documents with the field if it has texts, and all of them otherwise. */
  #docCount(field: string): number {
    const withField = this.#withField(field)
    return withField > 0 ? withField : this.#count('all', () => 1)
  }

  #docFreq(field: string, term: string): number {
    return this.#count(`${field} term ${term}`, (other) => {
      return termsOf(fieldOf(other, field)).includes(term) ? 1 : 0
    })
  }

  #count(what: string, valueOf: (document: IndexableDocument) => number): number {
    const known = this.#counts.get(what)
    if (known !== undefined) return known
    let sum = 0
    for (const { documents } of this.#counted) {
      for (const document of documents.values()) sum += valueOf(document)
    }
    this.#counts.set(what, sum)
    return sum
  }
}

function compareScores(a: NaiveHit, b: NaiveHit): number {
  return b.score - a.score || (a.key < b.key ? -1 : 1)
}

/** Hits without a value come last in either direction. */
function compareBy(sort: readonly SortField[], a: NaiveHit, b: NaiveHit): number {
  for (const [i, { descending }] of sort.entries()) {
    const [left, right] = [a.sortValues?.[i], b.sortValues?.[i]]
    if (left === right) continue
    if (left === undefined) return 1
    if (right === undefined) return -1
    const areTexts = typeof left === 'string' && typeof right === 'string'
    const order = areTexts ? compareUtf8(left, right) : Number(left) - Number(right)
    return descending ? -order : order
  }
  return a.key < b.key ? -1 : 1
}

/** Texts are in the order of the bytes of their UTF-8. */
function compareUtf8(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

/** The least of several values for an ascending order, the greatest for a descending one. */
function sortValueOf(sort: SortField, document: IndexableDocument, score: number): SortValue {
  if (sort.by === 'score') return score
  if (sort.by === 'key') return textOf(document.key)
  const field = fieldOf(document, sort.field)
  const values = field?.kind === 'number' || field?.kind === 'keyword' ? [...field.values] : []
  const ascending = values.toSorted((a, b) =>
    typeof a === 'string' ? compareUtf8(a, String(b)) : a - Number(b),
  )
  return ascending.at(sort.descending ? -1 : 0)
}

type ConstantQuery = Exclude<
  EngineQuery,
  { kind: 'none' | 'all' | 'term' | 'phrase' | 'whole' | 'boolean' | 'best' }
>

const SCORED: ReadonlySet<string> = new Set([
  'none',
  'all',
  'term',
  'phrase',
  'whole',
  'boolean',
  'best',
])

function isConstant(query: EngineQuery): query is ConstantQuery {
  return !SCORED.has(query.kind)
}

function matchesConstant(document: IndexableDocument, query: ConstantQuery): boolean {
  switch (query.kind) {
    case 'exists':
      return hasValue(fieldOf(document, query.field))
    case 'expand':
      return termsOf(fieldOf(document, query.field)).some(
        (term) => term.startsWith(query.matcher.prefix) && query.matcher.matches(term),
      )
    case 'range': {
      const field = fieldOf(document, query.field)
      const values = field?.kind === 'number' ? field.values : []
      return values.some((value) => value >= query.min && value <= query.max)
    }
    case 'area': {
      const field = fieldOf(document, query.field)
      const values = field?.kind === 'point' ? field.values : []
      return values.some(({ lon, lat }) => query.contains(lon, lat))
    }
    case 'keys':
      return query.keys.some((key) => textOf(key) === textOf(document.key))
    case 'key-prefix':
      return textOf(document.key).startsWith(textOf(query.prefix))
    default:
      return unreachable(query)
  }
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1')
}

function fieldOf(document: IndexableDocument, name: string): IndexableField | undefined {
  return document.fields.find((field) => field.name === name)
}

function termsOf(field: IndexableField | undefined): readonly string[] {
  if (field?.kind === 'text') return tokensOf(field).map(({ term }) => term)
  return field?.kind === 'keyword' ? field.values : []
}

function hasValue(field: IndexableField | undefined): boolean {
  if (field === undefined) return false
  return field.kind === 'text' ? field.length > 0 : field.values.length > 0
}

function lengthOf(document: IndexableDocument, name: string): number {
  const field = fieldOf(document, name)
  return field?.kind === 'text' ? lengthOfByte(byteOfLength(field.length)) : 0
}

function frequencyOf(
  document: IndexableDocument,
  query: { readonly field: string; readonly term: string },
): number {
  const field = fieldOf(document, query.field)
  const found = termsOf(field).filter((term) => term === query.term).length
  return field?.kind === 'keyword' ? Math.min(found, 1) : found
}

function phraseFrequency(
  document: IndexableDocument,
  query: Extract<EngineQuery, { kind: 'phrase' }>,
): number {
  const field = fieldOf(document, query.field)
  const tokens = field?.kind === 'text' ? tokensOf(field) : []
  const lists = query.positions.map(({ offset, terms }) =>
    tokens.filter(({ term }) => terms.includes(term)).map(({ position }) => position - offset),
  )
  if (lists.length === 0 || lists.some((list) => list.length === 0)) return 0
  const [first = []] = lists
  if (query.slop === 0 || lists.length === 1) {
    return new Set(first.filter((at) => lists.every((list) => list.includes(at)))).size
  }
  return sloppyFrequency(lists, query)
}

/** Moves the list with the least entry on until it is not the least, and counts the narrowest. */
function sloppyFrequency(
  lists: readonly (readonly number[])[],
  { slop, positions }: Extract<EngineQuery, { kind: 'phrase' }>,
): number {
  const rest = lists.map((list) => [...list])
  let frequency = 0
  while (rest.every((list) => list.length > 0)) {
    const heads = rest.map((list) => list[0]!)
    const least = heads.indexOf(Math.min(...heads))
    const next = Math.min(...heads.filter((_, i) => i !== least))
    const greatest = Math.max(...heads)
    let width = Infinity
    while (rest[least]!.length > 0 && rest[least]![0]! <= next) {
      const tokens = rest.map((list, i) => list[0]! + positions[i]!.offset)
      const isApart = new Set(tokens).size === lists.length
      if (isApart) width = Math.min(width, greatest - rest[least]![0]!)
      rest[least]!.shift()
    }
    if (width <= slop) frequency += 1 / (1 + width)
  }
  return frequency
}
