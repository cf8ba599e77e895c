// Finds the best documents that have at least one of several terms: MaxScore over windows of
// documents.
//
// In each window a term's block maxima bound its scores. The terms with the lowest bounds are
// "optional" as long as the sum of their bounds cannot reach the bar: a document that has only
// these terms cannot become a hit. The other terms are walked completely. The scores of the found
// documents are completed by looking up optional terms, the highest bound first, as long as the
// document can still reach the bar.

import type { Sliced } from '../../../../lib/sliced.ts'
import { f64At, isAccepted, u32At, type BulkSearch } from './bulk-search.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import type { TermScorer } from './term-scorer.ts'

const WINDOW_MIN = 1024
const WINDOW_MAX = 8192

/** Scores every document of a few postings, one after the other, and returns their number. */
export function scoreAnyTerm(terms: readonly TermScorer[], search: BulkSearch): number {
  const { hits, accepted, poll } = search
  let matchCount = 0
  let doc = NO_MORE
  for (const term of terms) doc = Math.min(doc, term.next())
  while (doc !== NO_MORE) {
    poll.spend(terms.length)
    let score = 0
    let next = NO_MORE
    for (const term of terms) {
      if (term.doc === doc) {
        score += term.score()
        term.next()
      }
      next = Math.min(next, term.doc)
    }
    if (isAccepted(accepted, doc)) {
      matchCount += 1
      hits.offer(doc, score)
    }
    doc = next
  }
  return matchCount
}

/** Returns the number of visited matches: all of them with `countsAll`. */
export function* searchDisjunction(
  terms: readonly TermScorer[],
  docCount: number,
  search: BulkSearch,
): Sliced<number> {
  const run = new Disjunction(terms, search)
  for (const term of terms) term.next()
  let from = 0
  while (from < docCount) {
    from = run.searchWindow(from, docCount)
    // Each term is looked at in each window.
    if (search.poll.spend(terms.length * 16)) yield search.poll.renewed()
  }
  return run.matchCount
}

class Disjunction {
  matchCount = 0
  readonly #terms: readonly TermScorer[]
  readonly #search: BulkSearch
  /** The terms by ascending bound in the present window, their bounds, and the sums up to each. */
  readonly #order: TermScorer[]
  readonly #bounds: Float64Array
  readonly #sums: Float64Array
  /** The sums by document of the window, allocated when a window first needs them. */
  #scores = new Float64Array(0)
  #found = new Uint32Array(0)

  constructor(terms: readonly TermScorer[], search: BulkSearch) {
    this.#terms = terms
    this.#search = search
    this.#order = [...terms]
    this.#bounds = new Float64Array(terms.length)
    this.#sums = new Float64Array(terms.length)
  }

  /** Returns the begin of the next window. */
  searchWindow(from: number, docCount: number): number {
    let blockEnd = docCount - 1
    for (const term of this.#terms) blockEnd = Math.min(blockEnd, term.blockEnd(from))
    const least = Math.min(from + WINDOW_MIN, docCount)
    const end = Math.max(least, Math.min(blockEnd + 1, from + WINDOW_MAX))
    const required = this.#partition(from, end)
    if (required === this.#terms.length) return end
    if (required === this.#terms.length - 1) this.#searchOne(required, from, end)
    else this.#searchSeveral(required, from, end)
    return end
  }

  /** Orders the terms by their bounds, and returns the number of optional ones. */
  #partition(from: number, end: number): number {
    const order = this.#order
    const bounds = this.#bounds
    for (let i = 0; i < this.#terms.length; i += 1) {
      const term = this.#terms[i]
      if (term === undefined) break
      const bound = term.boundBetween(from, end - 1)
      let at = i
      while (at > 0 && (bounds[at - 1] ?? 0) > bound) {
        bounds[at] = bounds[at - 1] ?? 0
        order[at] = order[at - 1] ?? term
        at -= 1
      }
      bounds[at] = bound
      order[at] = term
    }
    const bar = this.#search.countsAll ? -1 : this.#search.hits.bar
    let optional = 0
    let sum = 0
    for (let i = 0; i < order.length; i += 1) {
      sum += bounds[i] ?? 0
      this.#sums[i] = sum
      if (sum <= bar) optional = i + 1
    }
    return optional
  }

  #searchOne(required: number, from: number, end: number): void {
    const { hits, countsAll } = this.#search
    const term = this.#order[required]
    if (term === undefined) return
    const { cursor } = term
    const { lastDocs, blockCount } = cursor.source
    let first = from
    for (let block = cursor.blockOf(from); block < blockCount && first < end; block += 1) {
      const last = Math.min(u32At(lastDocs, block), end - 1)
      const rest = this.#optionalBound(required, first, last)
      if (countsAll || term.boundOf(block) + rest > hits.bar) {
        if (cursor.block !== block) cursor.openBlock(block)
        this.#searchBlock(required, { first, last, rest })
      }
      first = last + 1
    }
  }

  /** The documents of the term's open block from the first to the last. The other terms add at most `rest`. */
  #searchBlock(
    required: number,
    { first, last, rest }: { readonly first: number; readonly last: number; readonly rest: number },
  ): void {
    const { hits, accepted, poll, countsAll } = this.#search
    const term = this.#order[required]
    if (term === undefined) return
    const { cursor } = term
    cursor.loadFreqs()
    const { docs, freqs, count } = cursor
    poll.spend(count)
    for (let i = cursor.index; i < count; i += 1) {
      const doc = u32At(docs, i)
      if (doc > last) break
      if (doc < first) continue
      const score = term.scoreOf(doc, u32At(freqs, i))
      if (score + rest <= hits.bar && !countsAll) continue
      if (isAccepted(accepted, doc)) this.#complete(doc, score, required)
    }
  }

  /** The most that the first `count` terms can add together to a document from the first to the last. */
  #optionalBound(count: number, first: number, last: number): number {
    let bound = 0
    for (let i = 0; i < count; i += 1) bound += this.#order[i]?.boundBetween(first, last) ?? 0
    this.#search.poll.spend(16 * count)
    return bound
  }

  #searchSeveral(required: number, from: number, end: number): void {
    if (this.#scores.length === 0) {
      this.#scores = new Float64Array(WINDOW_MAX)
      this.#found = new Uint32Array(WINDOW_MAX / 32)
    }
    for (let i = required; i < this.#order.length; i += 1) {
      const term = this.#order[i]
      if (term !== undefined) this.#accumulate(term, from, end)
    }
    const { hits, accepted, countsAll } = this.#search
    const rest = required === 0 ? 0 : f64At(this.#sums, required - 1)
    const scores = this.#scores
    const words = (end - from + 31) >>> 5
    for (let word = 0; word < words; word += 1) {
      let bits = this.#found[word] ?? 0
      this.#found[word] = 0
      while (bits !== 0) {
        const at = word * 32 + 31 - Math.clz32(bits & -bits)
        bits &= bits - 1
        const score = scores[at] ?? 0
        scores[at] = 0
        if (score + rest <= hits.bar && !countsAll) continue
        if (isAccepted(accepted, from + at)) this.#complete(from + at, score, required)
      }
    }
  }

  #accumulate(term: TermScorer, from: number, end: number): void {
    const { cursor } = term
    const scores = this.#scores
    const found = this.#found
    if (cursor.doc < from) cursor.advance(from)
    while (cursor.doc < end) {
      cursor.loadFreqs()
      const { docs, freqs, count } = cursor
      let i = cursor.index
      this.#search.poll.spend(count - i)
      for (; i < count; i += 1) {
        const doc = u32At(docs, i)
        if (doc >= end) break
        const at = doc - from
        scores[at] = f64At(scores, at) + term.scoreOf(doc, u32At(freqs, i))
        found[at >>> 5] = u32At(found, at >>> 5) | (1 << (at & 31))
      }
      cursor.moveTo(i)
    }
  }

  /** Adds the scores of the optional terms, and offers the document. */
  #complete(doc: number, requiredScore: number, required: number): void {
    const { hits, countsAll } = this.#search
    let score = requiredScore
    this.matchCount += 1
    for (let i = required - 1; i >= 0; i -= 1) {
      if (score + (this.#sums[i] ?? 0) <= hits.bar && !countsAll) return
      const term = this.#order[i]
      if (term === undefined) break
      if (!term.mayHave(doc)) continue
      const at = term.cursor.doc < doc ? term.cursor.advance(doc) : term.cursor.doc
      if (at === doc) score += term.score()
    }
    hits.offer(doc, score)
  }
}
