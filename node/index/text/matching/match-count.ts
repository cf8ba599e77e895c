// Counts matching documents exactly where the search for the best ones does not visit all of them.

import type { Sliced } from '../../../../lib/sliced.ts'
import { PostingsCursor } from '../postings/postings-cursor.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import { bitCount, intersect, newBitset, nextBit, type Bitset } from '../../encoding/bitset.ts'
import type { SegmentTerm } from '../live/live-segment.ts'
import { isAccepted, u32At } from './bulk-search.ts'
import type { Poll } from '../poll.ts'
import { addPostings, addSet, countOfAll, documentsOf, forEachBlock } from './term-set.ts'

/** Looking up a document costs about as much as walking 16. */
const SPARSE_RATIO = 16

/** The documents that count in one segment, and the meter that says when to pause. */
export interface CountScope {
  readonly docCount: number
  /** The documents that count; undefined for all. */
  readonly accepted: Bitset | undefined
  readonly poll: Poll
}

/** Counts the documents with the term. */
export function* countTerm(source: PostingsSource, { accepted, poll }: CountScope): Sliced<number> {
  if (accepted === undefined) return source.docFreq
  let total = 0
  yield* forEachBlock(source, poll, (docs, count) => {
    for (let i = 0; i < count; i += 1) if (isAccepted(accepted, u32At(docs, i))) total += 1
  })
  return total
}

/**
 * Counts the documents with any of the terms. If all live documents count, as `acceptsLive` says,
 * the most frequent term is not walked, but only looked up for the documents of the other terms.
 */
export function* countAnyTerm(
  terms: readonly SegmentTerm[],
  scope: CountScope,
  acceptsLive: boolean,
): Sliced<number> {
  const [largest, ...others] = terms.toSorted((a, b) => b.source.docFreq - a.source.docFreq)
  if (largest === undefined) return 0
  const bits = newBitset(scope.docCount)
  for (const term of others) yield* addTerm(bits, term, scope)
  const otherPostings = others.reduce((sum, { source }) => sum + source.docFreq, 0)
  const isSparse = otherPostings * SPARSE_RATIO < largest.source.docFreq
  if (!acceptsLive || !isSparse) yield* addTerm(bits, largest, scope)
  if (scope.accepted !== undefined) intersect(bits, scope.accepted)
  if (!acceptsLive || !isSparse) return bitCount(bits)
  return largest.liveDocFreq + (yield* countWithout(bits, largest, scope))
}

function* addTerm(bits: Bitset, term: SegmentTerm, { docCount, poll }: CountScope): Sliced<void> {
  const documents = yield* documentsOf(term, docCount, poll)
  if (documents === undefined) yield* addPostings(bits, term.source, poll)
  else yield* addSet(bits, documents, poll)
}

/** Counts the members without the term. */
function* countWithout(
  bits: Bitset,
  term: SegmentTerm,
  { docCount, poll }: CountScope,
): Sliced<number> {
  const documents = yield* documentsOf(term, docCount, poll)
  if (documents !== undefined) return bitCount(bits) - (yield* countOfAll(bits, [documents], poll))
  const cursor = new PostingsCursor(term.source)
  let total = 0
  for (
    let doc = nextBit(bits, 0, docCount);
    doc < docCount;
    doc = nextBit(bits, doc + 1, docCount)
  ) {
    if (poll.spend(4)) yield poll.renewed()
    if (cursor.doc < doc) cursor.advance(doc)
    if (cursor.doc !== doc) total += 1
  }
  return total
}
