import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { fieldOfTermKey, termKey } from '../encoding/term-key.ts'
import type { EngineQuery, TermsInField } from '../engine-query.ts'
import type { FieldStatistics } from '../segment/segment.ts'
import { idfOf, K1, lengthTable } from './bm25.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import type { Poll } from '../poll.ts'
import { LINK_TERMS, shapeOf } from './field-shape.ts'
import { gatherExpansions, rankExpansions, type Expansions } from './ranked-expansions.ts'
import type { EngineQueryOf } from '../engine-query.ts'
import type { TermWeight } from './term-scorer.ts'

/** A term and the field of the index that has it. */
export interface FieldTerm {
  readonly field: string
  readonly term: string
}

/**
 * The figures that BM25 needs about the whole collection. The figures of several shards add up. For
 * fields without lengths, `docCount` is the number of documents.
 */
export interface TermStatistics {
  readonly fields: ReadonlyMap<string, FieldStatistics>
  /** The number of documents that have the term, by `termKey`. */
  readonly docFreqs: ReadonlyMap<string, number>
  /** The terms by which fuzzy words, prefixes and wildcards score. */
  readonly expansions: Expansions
}

/** A value that more than three documents have names a kind of documents, not one document. */
const OWN_VALUE_MAX = 3
/** The weight of such a value, or of one that no document spells like this, where a value of one document weighs 1. */
const SHARED_VALUE_WEIGHT = 0.2
/** A field, and the field of all text in which it is weighed; undefined: it is not weighed. */
interface ShapedField {
  readonly field: string
  readonly shapedIn?: string | undefined
}

/** The cost of looking up a term in a segment. */
const LOOKUP_COST = 256

/** Gathers all statistics of this index on which the scores of a query depend. */
export function* gatherQueryStatistics(
  segments: readonly LiveSegment[],
  query: EngineQuery,
  poll: Poll,
): Sliced<TermStatistics> {
  const expansions = yield* gatherExpansions(segments, query, poll)
  const terms = [...scoringTerms(rankExpansions(query, expansions)), ...scoredElsewhere(query)]
  const fields = new Map<string, FieldStatistics>()
  for (const [key, closest] of expansions) {
    const field = fieldOfTermKey(key)
    // An index without any of the terms counts, too, because its documents do.
    fields.set(field, sumOfField(segments, field))
    // One term more than may score is among them, because another shard may lack some.
    if (closest !== 'too-many') for (const term of closest) terms.push({ field, term })
  }
  const found = yield* gatherStatistics(segments, terms, poll)
  return { fields: new Map([...fields, ...found.fields]), docFreqs: found.docFreqs, expansions }
}

/** What scores depend on: a term of a field, or, without a term, the figures of the field alone. */
interface NeededFigure {
  readonly field: string
  readonly term?: string
}

/** Gathers the statistics of these terms and their fields, without expansions. */
export function* gatherStatistics(
  segments: readonly LiveSegment[],
  terms: Iterable<NeededFigure>,
  poll: Poll,
): Sliced<Omit<TermStatistics, 'expansions'>> {
  const fields = new Map<string, FieldStatistics>()
  const docFreqs = new Map<string, number>()
  for (const { field, term } of terms) {
    if (!fields.has(field)) fields.set(field, sumOfField(segments, field))
    if (term === undefined) continue
    const key = termKey(field, term)
    if (docFreqs.has(key)) continue
    let docFreq = 0
    for (const live of segments) docFreq += live.term(field, term)?.liveDocFreq ?? 0
    docFreqs.set(key, docFreq)
    if (poll.spend(LOOKUP_COST * segments.length)) yield poll.renewed()
  }
  return { fields, docFreqs }
}

function sumOfField(segments: readonly LiveSegment[], name: string): FieldStatistics {
  const isText = segments.some(({ segment }) => segment.field(name)?.kind === 'text')
  let docCount = 0
  let totalLength = 0
  for (const live of segments) {
    if (isText && live.segment.field(name) === undefined) continue
    const part = live.fieldStatistics(name)
    docCount += part.docCount
    totalLength += part.totalLength
  }
  // A field that deleted documents alone had counts as one that no document ever had: scores do not depend on merges.
  if (docCount === 0) return { docCount: liveCountOf(segments), totalLength: 0 }
  return { docCount, totalLength }
}

function liveCountOf(segments: readonly LiveSegment[]): number {
  return segments.reduce((sum, { liveCount }) => sum + liveCount, 0)
}

/**
 * What tells the figures of fields in which expansions of another field score. An index without any of the closest terms
 * counts, too, because its documents do.
 */
function scoredElsewhere(query: EngineQuery): readonly NeededFigure[] {
  if (query.kind === 'boolean') return [...query.must, ...query.should].flatMap(scoredElsewhere)
  if (query.kind === 'best') return query.parts.flatMap(scoredElsewhere)
  if (query.kind !== 'expand' || query.scoredIn === undefined) return []
  return shapeFigures({ field: query.scoredIn, shapedIn: query.shapedIn })
}

/** The terms and fields whose statistics a query's scores depend on. */
export function scoringTerms(query: EngineQuery): NeededFigure[] {
  if (query.kind === 'term') return termFigures(query)
  if (query.kind === 'phrase') {
    const { field, positions, alike = positionsIn(field, positions) } = query
    return [...alike.flatMap(eachTerm), ...shapeFigures(query)]
  }
  if (query.kind === 'whole') {
    const value = query.value === undefined ? [] : [query.value]
    return [...query.alike.flatMap(eachTerm), ...value, ...shapeFigures(query)]
  }
  if (query.kind === 'boolean') return [...query.must, ...query.should].flatMap(scoringTerms)
  // Everything else scores its boost.
  return query.kind === 'best' ? query.parts.flatMap(scoringTerms) : []
}

function termFigures(query: EngineQueryOf<'term'>): NeededFigure[] {
  const { field, term, alike } = query
  // The terms of an expansion are as rare as each other, and each of them is asked for itself.
  const isOwn = alike === undefined || alike.field === field
  if (isOwn && query.shapedIn === undefined) return [{ field, term }]
  return [...(isOwn ? [{ field, term }] : eachTerm(alike)), ...shapeFigures(query)]
}

function eachTerm({ field, terms }: TermsInField): readonly FieldTerm[] {
  return terms.map((term) => ({ field, term }))
}

/** The field itself, because of its lengths. */
function shapeFigures({ field, shapedIn }: ShapedField): readonly NeededFigure[] {
  if (shapedIn === undefined) return [{ field }]
  return [{ field }, { field: shapedIn }, ...eachTerm({ field, terms: LINK_TERMS })]
}

/** Weights of terms and phrases under fixed statistics. */
export class Weights {
  readonly #statistics: TermStatistics
  readonly #lengths = new Map<string, Float64Array>()
  readonly #shapes = new Map<string, number>()
  readonly #together = new Map<readonly string[], number>()

  constructor(statistics: TermStatistics) {
    this.#statistics = statistics
  }

  ofTerm(query: EngineQueryOf<'term'>, boost: number): TermWeight {
    const { field, term, alike } = query
    const idf = alike === undefined ? this.#idf(field, term) : this.#idfOfAll(alike)
    return this.#weigh(query, idf, boost)
  }

  /** A position with several terms is as rare as the most frequent of them. */
  ofPhrase(query: EngineQueryOf<'phrase'>, boost: number): TermWeight {
    const { field, positions, alike } = query
    return this.#weigh(query, this.#idfOfEach(alike ?? positionsIn(field, positions)), boost)
  }

  /** The score of each document that matches. */
  ofWhole(query: EngineQueryOf<'whole'>, boost: number): number {
    const { value, alike } = query
    const count = value === undefined ? 1 : this.#docFreq(value.field, value.term)
    const share = count > 0 && count <= OWN_VALUE_MAX ? 1 : SHARED_VALUE_WEIGHT
    return boost * share * this.#shape(query) * this.#idfOfEach(alike)
  }

  /** As rare as all of these together. */
  #idfOfEach(all: readonly TermsInField[]): number {
    let idf = 0
    for (const one of all) idf += this.#idfOfAll(one)
    return idf
  }

  /** The inverse document frequency of the most frequent of the terms. */
  #idfOfAll({ field, terms }: TermsInField): number {
    const known = this.#together.get(terms)
    if (known !== undefined) return known
    let idf = Infinity
    for (const term of terms) idf = Math.min(idf, this.#idf(field, term))
    this.#together.set(terms, idf)
    return idf
  }

  #weigh(query: EngineQueryOf<'term' | 'phrase'>, idf: number, boost: number): TermWeight {
    const { field } = query
    let lengths = this.#lengths.get(field)
    if (lengths === undefined) {
      lengths = lengthTable(this.#field(field))
      this.#lengths.set(field, lengths)
    }
    return { weight: boost * this.#shape(query) * idf * (K1 + 1), lengths }
  }

  #shape({ field, shapedIn }: ShapedField): number {
    if (shapedIn === undefined) return 1
    const known = this.#shapes.get(field)
    if (known !== undefined) return known
    const linkCount = Math.max(...LINK_TERMS.map((term) => this.#docFreq(field, term)))
    const textCount = this.#field(shapedIn).docCount
    const shape = shapeOf({ ...this.#field(field), linkCount, textCount })
    this.#shapes.set(field, shape)
    return shape
  }

  #idf(field: string, term: string): number {
    const docFreq = this.#docFreq(field, term)
    return idfOf(docFreq, Math.max(this.#field(field).docCount, docFreq))
  }

  #docFreq(field: string, term: string): number {
    return this.#statistics.docFreqs.get(termKey(field, term)) ?? 0
  }

  #field(field: string): FieldStatistics {
    return must(this.#statistics.fields.get(field), `statistics of field ${field}`)
  }
}

function positionsIn(
  field: string,
  positions: EngineQueryOf<'phrase'>['positions'],
): readonly TermsInField[] {
  return positions.map(({ terms }) => ({ field, terms }))
}
