// The best documents that have one term: blocks whose best score cannot get in are not decoded.

import { isAccepted, u32At, type BulkSearch } from './bulk-search.ts'
import type { TermScorer } from './term-scorer.ts'

/** Answers how many matches were visited. */
export function searchTerm(term: TermScorer, { hits, accepted, poll }: BulkSearch): number {
  const { cursor } = term
  let matchCount = 0
  for (let block = 0; block < cursor.source.blockCount; block += 1) {
    if (term.boundOf(block) <= hits.bar) continue
    cursor.openBlock(block)
    cursor.loadFreqs()
    const { docs, freqs, count } = cursor
    poll.spend(count)
    for (let i = 0; i < count; i += 1) {
      const doc = u32At(docs, i)
      const score = term.scoreOf(doc, u32At(freqs, i))
      if (score <= hits.bar || !isAccepted(accepted, doc)) continue
      matchCount += 1
      hits.offer(doc, score)
    }
  }
  return matchCount
}
