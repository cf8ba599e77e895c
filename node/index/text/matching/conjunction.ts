// Finds the best documents that have all of several terms. The rarest term leads, and the others
// seek its documents. Blocks whose maxima together cannot reach the bar are skipped undecoded.

import type { Sliced } from '../../../../lib/sliced.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import { isAccepted, type BulkSearch } from './bulk-search.ts'
import type { TermScorer } from './term-scorer.ts'

/** Returns the number of visited matches: all of them with `countsAll`. */
export function* searchConjunction(
  terms: readonly [TermScorer, ...TermScorer[]],
  search: BulkSearch,
): Sliced<number> {
  const [lead = terms[0], ...others] = terms.toSorted((a, b) => a.cost - b.cost)
  const run = new Conjunction(lead, others, search)
  yield* run.run()
  return run.matchCount
}

class Conjunction {
  matchCount = 0
  readonly #lead: TermScorer
  readonly #others: readonly TermScorer[]
  readonly #search: BulkSearch
  /** The most that the other terms can add within the leader's present block. */
  #othersBound = 0

  constructor(lead: TermScorer, others: readonly TermScorer[], search: BulkSearch) {
    this.#lead = lead
    this.#others = others
    this.#search = search
  }

  *run(): Sliced<void> {
    const { poll, countsAll } = this.#search
    let from = 0
    while (from !== NO_MORE) {
      const end = this.#lead.blockEnd(from)
      if (end === NO_MORE) return
      if (this.#mayReachBar(from, end)) from = this.#searchBlock(from, end, true)
      else from = countsAll ? this.#searchBlock(from, end, false) : end + 1
      if (poll.isDue) yield poll.renewed()
    }
  }

  #mayReachBar(from: number, end: number): boolean {
    this.#othersBound = 0
    for (const other of this.#others) this.#othersBound += other.boundBetween(from, end)
    this.#search.poll.spend(16 * (this.#others.length + 1))
    return this.#lead.boundBetween(from, end) + this.#othersBound > this.#search.hits.bar
  }

  /**
   * Returns the document at which the search continues: behind the block, or where another term is.
   * Without `mayScore` matches are only counted.
   */
  #searchBlock(from: number, end: number, mayScore: boolean): number {
    const lead = this.#lead
    const { hits, countsAll, accepted, poll } = this.#search
    let doc = lead.doc < from ? lead.advance(from) : lead.doc
    while (doc <= end) {
      poll.spend(2 + this.#others.length)
      const mayEnter = mayScore && lead.score() + this.#othersBound > hits.bar
      if (!mayEnter && !countsAll) {
        doc = lead.next()
        continue
      }
      const ahead = this.#disagreement(doc)
      if (ahead > end) return ahead
      if (ahead !== doc) {
        doc = lead.advance(ahead)
        continue
      }
      if (isAccepted(accepted, doc)) {
        this.matchCount += 1
        if (mayEnter) hits.offer(doc, this.#sum())
      }
      doc = lead.next()
    }
    return end + 1
  }

  /** `doc` if all terms are at it, otherwise the document of the first term that is not. */
  #disagreement(doc: number): number {
    for (let i = 0; i < this.#others.length; i += 1) {
      const cursor = this.#others[i]?.cursor
      if (cursor === undefined) break
      const at = cursor.doc < doc ? cursor.advance(doc) : cursor.doc
      if (at !== doc) return at
    }
    return doc
  }

  #sum(): number {
    let sum = this.#lead.score()
    for (const other of this.#others) sum += other.score()
    return sum
  }
}
