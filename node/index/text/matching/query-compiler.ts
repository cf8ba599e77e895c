import { unreachable } from '../../../../lib/assert.ts'
import type { EngineQuery } from '../engine-query.ts'
import { PostingsCursor } from '../postings/postings-cursor.ts'
import { fullBitset, subtract, type Bitset } from '../engine/bitset.ts'
import { ColumnScorer } from './column-scorer.ts'
import type { LiveSegment } from '../engine/live-segment.ts'
import { isColumnQuery, isSetQuery, matchingSet, neededShould } from './matching-set.ts'
import { PhrasePosition, PhraseScorer } from './phrase-scorer.ts'
import type { Poll } from '../engine/poll.ts'
import {
  AllOfScorer,
  AllowedScorer,
  AnyOfScorer,
  BitsetScorer,
  EmptyScorer,
  OptionalScorer,
  type Scorer,
} from './scorer.ts'
import { columnOf, testOf, type ColumnQuery, type QueryOf } from './set-query.ts'
import type { Weights } from './statistics.ts'
import { TermScorer } from './term-scorer.ts'

type BooleanQuery = QueryOf<'boolean'>

/** Turns queries into walks of one segment. Deleted and expired documents are still in them. */
export class QueryCompiler {
  readonly #live: LiveSegment
  readonly #weights: Weights
  readonly #poll: Poll

  constructor(live: LiveSegment, weights: Weights, poll: Poll) {
    this.#live = live
    this.#weights = weights
    this.#poll = poll
  }

  compile(query: EngineQuery, factor = 1): Scorer {
    const { segment } = this.#live
    if (query.kind === 'none') return new EmptyScorer()
    const boost = factor * query.boost
    if (isColumnQuery(query)) return this.#inColumn(query, boost)
    if (isSetQuery(query)) return this.#constant(this.set(query), boost)
    switch (query.kind) {
      case 'all':
        return this.#constant(fullBitset(segment.docCount), boost)
      case 'term':
        return this.term(query, factor) ?? new EmptyScorer()
      case 'phrase':
        return this.#phrase(query, boost)
      case 'boolean':
        return this.#boolean(query, boost)
      case 'best':
        return new AnyOfScorer(
          query.parts.map((part) => this.compile(part, boost)),
          1,
          'best',
        )
      default:
        return unreachable(query)
    }
  }

  #inColumn(query: ColumnQuery, score: number): Scorer {
    const { docCount } = this.#live.segment
    const column = columnOf(this.#live.segment, query.field)
    if (column === undefined) return new EmptyScorer()
    return new ColumnScorer(column, { docCount, test: testOf(query), score, poll: this.#poll })
  }

  /** Undefined if no document of the segment has the term. */
  term(query: Extract<EngineQuery, { kind: 'term' }>, factor: number): TermScorer | undefined {
    const found = this.#live.term(query.field, query.term)
    if (found === undefined) return undefined
    const weight = this.#weights.ofTerm(query.field, query.term, factor * query.boost)
    return new TermScorer(found.source, this.#norms(query.field), weight)
  }

  /** The documents that match, whatever they score. */
  set(query: EngineQuery): Bitset {
    const walk = (part: EngineQuery): Scorer => this.compile(part)
    return matchingSet(query, { live: this.#live, poll: this.#poll, walk })
  }

  #constant(bits: Bitset, score: number): Scorer {
    return new BitsetScorer(bits, this.#live.segment.docCount, score)
  }

  /** Fields without lengths have norm 0 everywhere. */
  #norms(field: string): Uint8Array {
    const { segment } = this.#live
    return segment.field(field)?.norms ?? this.#live.noNorms()
  }

  #phrase(query: Extract<EngineQuery, { kind: 'phrase' }>, boost: number): Scorer {
    const positions: PhrasePosition[] = []
    for (const { offset, terms } of query.positions) {
      const cursors = [...new Set(terms)]
        .map((term) => this.#live.term(query.field, term))
        .filter((found) => found !== undefined)
        .map(({ source }) => new PostingsCursor(source))
      if (cursors.length === 0) return new EmptyScorer()
      positions.push(new PhrasePosition(offset, cursors))
    }
    if (positions.length === 0) return new EmptyScorer()
    const weight = this.#weights.ofPhrase(query.field, query.positions, boost)
    const norms = this.#norms(query.field)
    return new PhraseScorer(positions, { ...weight, norms, slop: query.slop, poll: this.#poll })
  }

  #boolean(query: BooleanQuery, boost: number): Scorer {
    const must = query.must.map((part) => this.compile(part, boost))
    const filters = query.filter.map((part) => this.compile(part, 0))
    const should = query.should.map((part) => this.compile(part, boost))
    const needed = neededShould(query)
    const scoring = [...must]
    const required = [...must, ...filters]
    if (needed > 0) {
      const some =
        needed > should.length ? new EmptyScorer() : new AnyOfScorer(should, needed, 'sum')
      required.push(some)
      scoring.push(some)
    }
    const all = this.#allOf(query, required, scoring)
    const allowed = this.#exclude(all, query.mustNot)
    if (needed > 0 || should.length === 0) return allowed
    return new OptionalScorer(allowed, new AnyOfScorer(should, 1, 'sum'))
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

  #exclude(part: Scorer, mustNot: readonly EngineQuery[]): Scorer {
    if (mustNot.length === 0) return part
    const allowed = fullBitset(this.#live.segment.docCount)
    for (const query of mustNot) subtract(allowed, this.set(query))
    return new AllowedScorer(part, allowed)
  }
}
