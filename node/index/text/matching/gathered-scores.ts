// Adds up the scores of many alternative terms, or keeps the best of them, term by term. A walk would look at each term for each
// document, which costs terms × documents; this costs one pass over the postings of the terms.

import type { Sliced } from '../../../../lib/sliced.ts'
import { bitCount, newBitset, nextBit, setBit, unite, type Bitset } from '../../encoding/bitset.ts'
import type { Poll } from '../poll.ts'
import type { EngineQuery } from '../engine-query.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import { f64At, u32At } from './bulk-search.ts'
import type { Scorer } from './scorer.ts'
import type { TermScorer } from './term-scorer.ts'

/** Fewer alternatives are walked. */
const ALTERNATIVES_MIN = 8
/** The largest segment with gathered scores: they take eight bytes each, so 1 MiB for a search. */
const DOCS_MAX = 128 * 1024
/** The most gathered parts of one query in one segment. */
export const GATHERED_MAX = 4

/**
 * Whether the scores of these alternatives are gathered: enough terms of an expansion, in a small
 * segment.
 */
export function isGathered(alternatives: readonly EngineQuery[], docCount: number): boolean {
  if (docCount > DOCS_MAX) return false
  const ranked = alternatives.filter((one) => one.kind === 'term' && one.alike !== undefined)
  const isSimple = alternatives.every(({ kind }) => kind === 'term' || kind === 'expand')
  return isSimple && ranked.length >= ALTERNATIVES_MIN
}

/**
 * The sums of the scores of several terms in one segment, or the best of them. The caller adds every term before it
 * asks for the first document; then it walks like any other scorer.
 */
export class GatheredScores implements Scorer {
  doc = -1
  readonly #bits: Bitset
  readonly #scores: Float64Array
  #cost: number | undefined
  readonly #takesBest: boolean

  constructor(docCount: number, combine: 'sum' | 'best') {
    this.#takesBest = combine === 'best'
    this.#bits = newBitset(docCount)
    this.#scores = new Float64Array(docCount)
  }

  get cost(): number {
    this.#cost ??= bitCount(this.#bits)
    return this.#cost
  }

  *addTerm(term: TermScorer, poll: Poll): Sliced<void> {
    const { cursor } = term
    for (let block = 0; block < cursor.source.blockCount; block += 1) {
      cursor.openBlock(block)
      if (this.#takesBest) takeBest(term, this.#bits, this.#scores)
      else addBlock(term, this.#bits, this.#scores)
      if (poll.spend(cursor.count)) yield poll.renewed()
    }
  }

  /** Adds the same score for every member. */
  *addSet(bits: Bitset, score: number, poll: Poll): Sliced<void> {
    unite(this.#bits, bits)
    const docCount = this.#scores.length
    let doc = nextBit(bits, 0, docCount)
    for (; doc < docCount; doc = nextBit(bits, doc + 1, docCount)) {
      this.#scores[doc] = f64At(this.#scores, doc) + score
      if (poll.spend(1)) yield poll.renewed()
    }
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  advance(target: number): number {
    const docCount = this.#scores.length
    const doc = target >= docCount ? docCount : nextBit(this.#bits, target, docCount)
    this.doc = doc >= docCount ? NO_MORE : doc
    return this.doc
  }

  score(): number {
    return f64At(this.#scores, this.doc)
  }
}

/** A function of its own, which the compiler makes faster than the body of a generator. */
function addBlock(term: TermScorer, bits: Bitset, scores: Float64Array): void {
  const { cursor } = term
  cursor.loadFreqs()
  const { docs, freqs, count } = cursor
  for (let i = 0; i < count; i += 1) {
    const doc = u32At(docs, i)
    scores[doc] = f64At(scores, doc) + term.scoreOf(doc, u32At(freqs, i))
    setBit(bits, doc)
  }
}

function takeBest(term: TermScorer, bits: Bitset, scores: Float64Array): void {
  const { cursor } = term
  cursor.loadFreqs()
  const { docs, freqs, count } = cursor
  for (let i = 0; i < count; i += 1) {
    const doc = u32At(docs, i)
    scores[doc] = Math.max(f64At(scores, doc), term.scoreOf(doc, u32At(freqs, i)))
    setBit(bits, doc)
  }
}
