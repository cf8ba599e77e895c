import { unreachable } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { EngineQuery } from '../engine-query.ts'
import { PostingsCursor } from '../postings/postings-cursor.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'
import { bitCount, fullBitset, nextBit, subtract, type Bitset } from '../../encoding/bitset.ts'
import { ColumnScorer } from './column-scorer.ts'
import { testOf, type ColumnQuery } from './column-test.ts'
import { GATHERED_MAX, GatheredScores, isGathered } from './gathered-scores.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import { isColumnQuery, isSetQuery, matchingSet, neededShould } from './matching-set.ts'
import { PhraseCursor, PhraseScorer, type PhrasePlace } from './phrase-scorer.ts'
import type { Poll } from '../poll.ts'
import {
  AllOfScorer,
  AllowedScorer,
  AnyOfScorer,
  BitsetScorer,
  EmptyScorer,
  ListScorer,
  OptionalScorer,
  type Scorer,
} from './scorer.ts'
import { columnOf } from './set-query.ts'
import type { EngineQueryOf } from '../engine-query.ts'
import type { Weights } from './statistics.ts'
import { TermScorer, type TermWeight } from './term-scorer.ts'
import { documentsOf } from './term-set.ts'

type BooleanQuery = EngineQueryOf<'boolean'>

/** A list of documents takes less room than a bitmap. */
const LIST_RATIO = 64
const WORDS_PER_UNIT = 4

/** What is whole scores by nothing else. */
const NO_WEIGHT: TermWeight = { weight: 0, lengths: new Float64Array(0) }
/** The cost of looking up a term and making its scorer. */
const TERM_COST = 256

/** Turns queries into walks of one segment. Deleted and expired documents are still in them. */
export class QueryCompiler {
  readonly #live: LiveSegment
  readonly #weights: Weights
  readonly #poll: Poll
  /** The number of gathered sets of scores that the query holds in this segment. */
  #gathered = 0

  constructor(live: LiveSegment, weights: Weights, poll: Poll) {
    this.#live = live
    this.#weights = weights
    this.#poll = poll
  }

  *compile(query: EngineQuery, factor = 1): Sliced<Scorer> {
    const { segment } = this.#live
    if (query.kind === 'none') return new EmptyScorer()
    const boost = factor * query.boost
    if (isColumnQuery(query)) return this.#inColumn(query, boost)
    if (isSetQuery(query)) return this.#constant(yield* this.set(query), boost)
    switch (query.kind) {
      case 'all':
        return this.#constant(fullBitset(segment.docCount), boost)
      case 'term':
        return (yield* this.terms([query], factor))[0] ?? new EmptyScorer()
      case 'phrase':
        return yield* this.#phrase(query, boost)
      case 'whole':
        return yield* this.#whole(query, boost)
      case 'boolean':
        return yield* this.#boolean(query, boost)
      case 'best':
        return this.#anyOf(yield* this.#best(query.parts, boost), { combine: 'best' })
      default:
        return unreachable(query)
    }
  }

  *#compileAll(queries: readonly EngineQuery[], factor: number): Sliced<Scorer[]> {
    const scorers: Scorer[] = []
    for (const query of queries) scorers.push(yield* this.compile(query, factor))
    return scorers
  }

  #anyOf(
    parts: readonly Scorer[],
    { combine = 'sum', minMatch = 1 }: { combine?: 'sum' | 'best'; minMatch?: number } = {},
  ): Scorer {
    const [only, ...others] = parts
    if (only !== undefined && others.length === 0 && minMatch === 1) return only
    return new AnyOfScorer(parts, { minMatch, combine, poll: this.#poll })
  }

  #inColumn(query: ColumnQuery, score: number): Scorer {
    const { docCount } = this.#live.segment
    const column = columnOf(this.#live.segment, query.field)
    if (column === undefined) return new EmptyScorer()
    return new ColumnScorer(column, { docCount, test: testOf(query), score, poll: this.#poll })
  }

  /** Scorers of those terms that the segment has. */
  *terms(queries: readonly EngineQueryOf<'term'>[], factor: number): Sliced<TermScorer[]> {
    const scorers: TermScorer[] = []
    for (const query of queries) {
      const scorer = this.#term(query, factor)
      if (scorer !== undefined) scorers.push(scorer)
      if (this.#poll.isDue) yield this.#poll.renewed()
    }
    return scorers
  }

  /** Undefined if no document of the segment has the term. The caller looks at the poll. */
  #term(query: EngineQueryOf<'term'>, factor: number): TermScorer | undefined {
    const found = this.#live.term(query.field, query.term)
    this.#poll.spend(TERM_COST)
    if (found === undefined) return undefined
    const weight = this.#weights.ofTerm(query, factor * query.boost)
    return new TermScorer(found, this.#norms(query.field), weight)
  }

  /** The set of matching documents, without scores. */
  set(query: EngineQuery): Sliced<Bitset> {
    const walk = (part: EngineQuery): Sliced<Scorer> => this.compile(part)
    return matchingSet(query, { live: this.#live, poll: this.#poll, walk })
  }

  #constant(bits: Bitset, score: number): Scorer {
    const { docCount } = this.#live.segment
    const count = bitCount(bits)
    this.#poll.spend(bits.length / WORDS_PER_UNIT)
    if (count * LIST_RATIO >= docCount) return new BitsetScorer(bits, docCount, score)
    const docs = new Uint32Array(count)
    let doc = -1
    for (let i = 0; i < count; i += 1) {
      doc = nextBit(bits, doc + 1, docCount)
      docs[i] = doc
    }
    return new ListScorer(docs, score)
  }

  /** Fields without lengths have norm 0 everywhere. */
  #norms(field: string): FieldNorms {
    const { segment } = this.#live
    return segment.field(field)?.norms ?? this.#live.noNorms()
  }

  *#phrase(query: EngineQueryOf<'phrase'>, boost: number): Sliced<Scorer> {
    const places = yield* this.#places(query)
    if (places.length === 0) return new EmptyScorer()
    const weight = this.#weights.ofPhrase(query, boost)
    const options = { ...weight, norms: this.#norms(query.field), poll: this.#poll }
    return new PhraseScorer(places, { ...options, slop: query.slop, whole: undefined })
  }

  *#whole(query: EngineQueryOf<'whole'>, boost: number): Sliced<Scorer> {
    const { field, forms } = query
    const score = this.#weights.ofWhole(query, boost)
    const common = { ...NO_WEIGHT, norms: this.#norms(field), slop: 0, poll: this.#poll }
    const scorers: Scorer[] = []
    for (const form of forms) {
      if (form.kind === 'keyword') {
        scorers.push(this.#constant(yield* this.set({ ...form, kind: 'expand', boost: 1 }), score))
        continue
      }
      const places = yield* this.#places({ field, positions: form.positions })
      if (places.length === 0) continue
      scorers.push(new PhraseScorer(places, { ...common, whole: { length: form.length, score } }))
    }
    return scorers.length === 0 ? new EmptyScorer() : this.#anyOf(scorers, { combine: 'best' })
  }

  /** No place if no document of the segment has all terms. */
  *#places({
    field,
    positions,
  }: Pick<EngineQueryOf<'phrase'>, 'field' | 'positions'>): Sliced<readonly PhrasePlace[]> {
    const places: PhrasePlace[] = []
    const known = new Map<string, PhraseCursor>()
    for (const { offset, terms } of positions) {
      // Words that come again are walked once: their positions may be many.
      const name = JSON.stringify(terms)
      const position = known.get(name) ?? (yield* this.#phraseCursor(field, terms))
      if (position === undefined) return []
      known.set(name, position)
      places.push({ offset, position })
      if (this.#poll.spend(TERM_COST * terms.length)) yield this.#poll.renewed()
    }
    return places
  }

  /** Undefined if no document of the segment has any of the terms. */
  *#phraseCursor(field: string, terms: readonly string[]): Sliced<PhraseCursor | undefined> {
    const found = [...new Set(terms)]
      .map((term) => this.#live.term(field, term))
      .filter((term) => term !== undefined)
    const [first, ...others] = found
    if (first === undefined) return undefined
    const { docCount } = this.#live.segment
    const isAlone = others.length === 0
    const documents = isAlone ? yield* documentsOf(first, docCount, this.#poll) : undefined
    return new PhraseCursor(
      found.map(({ source }) => new PostingsCursor(source)),
      documents,
    )
  }

  *#boolean(query: BooleanQuery, boost: number): Sliced<Scorer> {
    const must = yield* this.#compileAll(query.must, boost)
    const filters = yield* this.#compileAll(query.filter, 0)
    const needed = neededShould(query)
    const should = yield* this.#alternatives(query.should, { boost, needed })
    const scoring = [...must]
    const required = [...must, ...filters]
    if (needed > 0) {
      const some =
        needed > should.length ? new EmptyScorer() : this.#anyOf(should, { minMatch: needed })
      required.push(some)
      scoring.push(some)
    }
    const all = this.#allOf(query, required, scoring)
    const allowed = yield* this.#exclude(all, query.mustNot)
    if (needed > 0 || should.length === 0) return allowed
    return new OptionalScorer(allowed, this.#anyOf(should))
  }

  *#best(parts: readonly EngineQuery[], boost: number): Sliced<readonly Scorer[]> {
    const { docCount } = this.#live.segment
    const terms = parts.filter((part) => part.kind === 'term')
    const isWhole = terms.length === parts.length
    if (!isWhole || this.#gathered >= GATHERED_MAX || !isGathered(parts, docCount)) {
      return yield* this.#compileAll(parts, boost)
    }
    this.#gathered += 1
    const scores = new GatheredScores(docCount, 'best')
    for (const query of terms) {
      const term = this.#term(query, boost)
      if (term !== undefined) yield* scores.addTerm(term, this.#poll)
      if (this.#poll.isDue) yield this.#poll.renewed()
    }
    return [scores]
  }

  *#alternatives(
    queries: readonly EngineQuery[],
    { boost, needed }: { readonly boost: number; readonly needed: number },
  ): Sliced<readonly Scorer[]> {
    const { docCount } = this.#live.segment
    const isGatherable = this.#gathered < GATHERED_MAX && needed <= 1
    if (!isGatherable || !isGathered(queries, docCount)) {
      return yield* this.#compileAll(queries, boost)
    }
    this.#gathered += 1
    const scores = new GatheredScores(docCount, 'sum')
    for (const query of queries) {
      if (query.kind === 'term') {
        const term = this.#term(query, boost)
        if (term !== undefined) yield* scores.addTerm(term, this.#poll)
      } else if (query.kind === 'expand') {
        yield* scores.addSet(yield* this.set(query), boost * query.boost, this.#poll)
      }
      if (this.#poll.isDue) yield this.#poll.renewed()
    }
    return [scores]
  }

  #allOf(query: BooleanQuery, required: readonly Scorer[], scoring: readonly Scorer[]): Scorer {
    const [first, ...others] = required
    if (first === undefined) {
      if (query.mustNot.length === 0) return new EmptyScorer()
      return this.#constant(fullBitset(this.#live.segment.docCount), 0)
    }
    if (others.length === 0 && scoring.length === 1) return first
    return new AllOfScorer([first, ...others], scoring, this.#poll)
  }

  *#exclude(part: Scorer, mustNot: readonly EngineQuery[]): Sliced<Scorer> {
    if (mustNot.length === 0) return part
    const allowed = fullBitset(this.#live.segment.docCount)
    for (const query of mustNot) subtract(allowed, yield* this.set(query))
    return new AllowedScorer(part, allowed, this.#poll)
  }
}
