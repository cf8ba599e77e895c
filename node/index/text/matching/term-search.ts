// Finds the best documents with one term. Blocks whose best score cannot become a hit are not
// decoded.

import type { Sliced } from '../../../../lib/sliced.ts'
import { isAccepted, u32At, type BulkSearch } from './bulk-search.ts'
import type { TermScorer } from './term-scorer.ts'

/** Searches one term, and returns the number of visited matches. */
export function* searchTerm(term: TermScorer, search: BulkSearch): Sliced<number> {
  const { blockCount } = term.cursor.source
  const { hits, poll } = search
  let matchCount = 0
  for (let block = 0; block < blockCount; block += 1) {
    if (poll.spend(1)) yield poll.renewed()
    if (term.boundOf(block) > hits.bar) matchCount += searchBlock(term, block, search)
  }
  return matchCount
}

/** A function of its own, which the compiler makes faster than the body of a generator. */
function searchBlock(
  term: TermScorer,
  block: number,
  { hits, accepted, poll }: BulkSearch,
): number {
  const { cursor } = term
  cursor.openBlock(block)
  cursor.loadFreqs()
  const { docs, freqs, count } = cursor
  poll.spend(count)
  let matchCount = 0
  for (let i = 0; i < count; i += 1) {
    const doc = u32At(docs, i)
    const score = term.scoreOf(doc, u32At(freqs, i))
    if (score <= hits.bar || !isAccepted(accepted, doc)) continue
    matchCount += 1
    hits.offer(doc, score)
  }
  return matchCount
}
