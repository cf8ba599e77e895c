// Finds the best documents that have all of several terms. The rarest term leads, block by block, and the others are
// looked for at its documents: a frequent one in the set of its documents, any other in its postings. Blocks whose
// maxima together cannot reach the bar are skipped undecoded, unless their matches are counted; where all terms are
// frequent, their sets count them.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { Bitset } from '../../encoding/bitset.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import { isAccepted, u32At, type BulkSearch } from './bulk-search.ts'
import type { TermScorer } from './term-scorer.ts'
import { countOfAll, documentsOf } from './term-set.ts'

/** Returns the number of visited matches: all of them with `countsAll`. */
export function* searchConjunction(
  terms: readonly [TermScorer, ...TermScorer[]],
  docCount: number,
  search: BulkSearch,
): Sliced<number> {
  const [lead = terms[0], ...others] = terms.toSorted((a, b) => a.cost - b.cost)
  const { accepted, countsAll, poll, hits } = search
  const sets: Bitset[] = []
  const sought: TermScorer[] = []
  for (const other of others) {
    const documents = yield* documentsOf(other.term, docCount, poll)
    if (documents === undefined) sought.push(other)
    else sets.push(documents)
  }
  const isFrequent = countsAll && sought.length === 0
  const ofLead = isFrequent ? yield* documentsOf(lead.term, docCount, poll) : undefined
  if (ofLead === undefined) {
    return yield* new Conjunction(lead, { others, sought, sets }, search).run()
  }
  if (hits.bar < Infinity) {
    const uncounted = { ...search, countsAll: false }
    yield* new Conjunction(lead, { others, sought, sets }, uncounted).run()
  }
  if (accepted !== undefined) sets.push(accepted)
  return yield* countOfAll(ofLead, sets, poll)
}

/** The terms besides the leader: those without a set are `sought` in their postings. */
interface OtherTerms {
  readonly others: readonly TermScorer[]
  readonly sought: readonly TermScorer[]
  readonly sets: readonly Bitset[]
}

class Conjunction {
  #matchCount = 0
  readonly #lead: TermScorer
  readonly #others: readonly TermScorer[]
  readonly #sought: readonly TermScorer[]
  readonly #sets: readonly Bitset[]
  readonly #search: BulkSearch
  /** The most that the other terms can add within the leader's present block. */
  #othersBound = 0

  constructor(lead: TermScorer, { others, sought, sets }: OtherTerms, search: BulkSearch) {
    this.#lead = lead
    this.#others = others
    this.#sought = sought
    this.#sets = sets
    this.#search = search
  }

  *run(): Sliced<number> {
    const { poll, countsAll } = this.#search
    const { source } = this.#lead.cursor
    let from = 0
    for (let block = 0; block < source.blockCount;) {
      const end = u32At(source.lastDocs, block)
      const mayScore = this.#mayReachBar(block, from, end)
      if (mayScore || countsAll) from = this.#searchBlock(block, from, mayScore)
      if (from === NO_MORE) break
      if (from <= end) from = end + 1
      block = this.#lead.cursor.blockFrom(block + 1, from)
      if (poll.isDue) yield poll.renewed()
    }
    return this.#matchCount
  }

  #mayReachBar(block: number, from: number, end: number): boolean {
    this.#othersBound = 0
    for (const other of this.#others) this.#othersBound += other.boundBetween(from, end)
    this.#search.poll.spend(16 * (this.#others.length + 1))
    return this.#lead.boundOf(block) + this.#othersBound > this.#search.hits.bar
  }

  /**
   * Returns the first document at or behind which the search continues: an earlier one cannot match, or is visited.
   * Without `mayScore` matches are only counted.
   */
  #searchBlock(block: number, from: number, mayScore: boolean): number {
    const lead = this.#lead
    const { cursor } = lead
    const { hits, countsAll, accepted, poll } = this.#search
    cursor.openBlock(block)
    if (mayScore) cursor.loadFreqs()
    const { docs, freqs, count } = cursor
    poll.spend(count)
    let next = from
    for (let i = 0; i < count; i += 1) {
      const doc = u32At(docs, i)
      if (doc < next) continue
      const score = mayScore ? lead.scoreOf(doc, u32At(freqs, i)) : 0
      const mayEnter = mayScore && score + this.#othersBound > hits.bar
      if ((!mayEnter && !countsAll) || !this.#isInSets(doc)) continue
      next = this.#seek(doc)
      if (next !== doc || !isAccepted(accepted, doc)) continue
      this.#matchCount += 1
      if (mayEnter) hits.offer(doc, this.#scoreOf(doc, score))
    }
    return next
  }

  #isInSets(doc: number): boolean {
    const sets = this.#sets
    for (let i = 0; i < sets.length; i += 1) if (!isAccepted(sets[i], doc)) return false
    return true
  }

  /** `doc` if all sought terms are at it, otherwise the document of the first one that is not. */
  #seek(doc: number): number {
    const sought = this.#sought
    for (let i = 0; i < sought.length; i += 1) {
      const cursor = sought[i]?.cursor
      if (cursor === undefined) break
      const at = cursor.doc < doc ? cursor.advance(doc) : cursor.doc
      this.#search.poll.spend(2)
      if (at !== doc) return at
    }
    return doc
  }

  /** Each of the other terms has the document. */
  #scoreOf(doc: number, ofLead: number): number {
    let sum = ofLead
    for (const other of this.#others) {
      if (other.cursor.doc < doc) other.cursor.advance(doc)
      sum += other.score()
    }
    return sum
  }
}
