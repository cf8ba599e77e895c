import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { fieldOfTermKey, termKey } from '../encoding/term-key.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { FieldStatistics } from '../segment/segment.ts'
import { idfOf, K1, lengthTable } from './bm25.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import type { Poll } from '../poll.ts'
import { gatherExpansions, rankExpansions, type Expansions } from './ranked-expansions.ts'
import type { EngineQueryOf } from './set-query.ts'
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

/** The cost of looking up a term in a segment. */
const LOOKUP_COST = 256

/** Gathers all statistics of this index on which the scores of a query depend. */
export function* gatherQueryStatistics(
  segments: readonly LiveSegment[],
  query: EngineQuery,
  poll: Poll,
): Sliced<TermStatistics> {
  const expansions = yield* gatherExpansions(segments, query, poll)
  const terms = scoringTerms(rankExpansions(query, expansions))
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

/** Gathers the statistics of these terms and their fields, without expansions. */
export function* gatherStatistics(
  segments: readonly LiveSegment[],
  terms: Iterable<FieldTerm>,
  poll: Poll,
): Sliced<Omit<TermStatistics, 'expansions'>> {
  const fields = new Map<string, FieldStatistics>()
  const docFreqs = new Map<string, number>()
  for (const { field, term } of terms) {
    if (!fields.has(field)) fields.set(field, sumOfField(segments, field))
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
  return { docCount, totalLength }
}

/** The terms whose statistics a query's scores depend on. */
export function scoringTerms(query: EngineQuery): FieldTerm[] {
  if (query.kind === 'term') return [{ field: query.field, term: query.term }]
  if (query.kind === 'phrase') {
    const { field } = query
    return query.positions.flatMap(({ terms }) => terms.map((term) => ({ field, term })))
  }
  if (query.kind === 'boolean') return [...query.must, ...query.should].flatMap(scoringTerms)
  // Everything else scores its boost.
  return query.kind === 'best' ? query.parts.flatMap(scoringTerms) : []
}

/** Weights of terms and phrases under fixed statistics. */
export class Weights {
  readonly #statistics: TermStatistics
  readonly #lengths = new Map<string, Float64Array>()
  readonly #together = new Map<readonly string[], number>()

  constructor(statistics: TermStatistics) {
    this.#statistics = statistics
  }

  ofTerm({ field, term, alike }: EngineQueryOf<'term'>, boost: number): TermWeight {
    const idf = alike === undefined ? this.#idf(field, term) : this.#idfOfAll(field, alike)
    return this.#weigh(field, idf, boost)
  }

  /** A position with several terms is as rare as the most frequent of them. */
  ofPhrase(
    field: string,
    positions: readonly { readonly terms: readonly string[] }[],
    boost: number,
  ): TermWeight {
    let idf = 0
    for (const { terms } of positions) idf += this.#idfOfAll(field, terms)
    return this.#weigh(field, idf, boost)
  }

  /** The inverse document frequency of the most frequent of the terms. */
  #idfOfAll(field: string, terms: readonly string[]): number {
    const known = this.#together.get(terms)
    if (known !== undefined) return known
    let idf = Infinity
    for (const term of terms) idf = Math.min(idf, this.#idf(field, term))
    this.#together.set(terms, idf)
    return idf
  }

  #weigh(field: string, idf: number, boost: number): TermWeight {
    let lengths = this.#lengths.get(field)
    if (lengths === undefined) {
      lengths = lengthTable(this.#field(field))
      this.#lengths.set(field, lengths)
    }
    return { weight: boost * idf * (K1 + 1), lengths }
  }

  #idf(field: string, term: string): number {
    const docFreq = this.#statistics.docFreqs.get(termKey(field, term)) ?? 0
    return idfOf(docFreq, Math.max(this.#field(field).docCount, docFreq))
  }

  #field(field: string): FieldStatistics {
    return must(this.#statistics.fields.get(field), `statistics of field ${field}`)
  }
}
