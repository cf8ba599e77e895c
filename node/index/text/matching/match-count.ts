// Counts matching documents exactly where the search for the best ones does not visit all of them.

import type { Sliced } from '../../../../lib/sliced.ts'
import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import { PostingsCursor } from '../postings/postings-cursor.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import {
  bitCount,
  intersect,
  newBitset,
  nextBit,
  setBits,
  type Bitset,
} from '../../encoding/bitset.ts'
import { isAccepted, u32At } from './bulk-search.ts'
import type { Poll } from '../poll.ts'

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

/** A term, and the number of live documents of the segment that have it. */
export interface CountedTerm {
  readonly source: PostingsSource
  readonly liveDocFreq: number
}

/**
 * Counts the documents with any of the terms. If all live documents count, as `acceptsLive` says,
 * the most frequent term is not walked, but only looked up for the documents of the other terms.
 */
export function* countAnyTerm(
  terms: readonly CountedTerm[],
  scope: CountScope,
  acceptsLive: boolean,
): Sliced<number> {
  const [largest, ...others] = terms.toSorted((a, b) => b.source.docFreq - a.source.docFreq)
  if (largest === undefined) return 0
  const bits = newBitset(scope.docCount)
  for (const { source } of others) yield* addPostings(bits, source, scope.poll)
  const otherPostings = others.reduce((sum, { source }) => sum + source.docFreq, 0)
  const isSparse = otherPostings * SPARSE_RATIO < largest.source.docFreq
  if (!acceptsLive || !isSparse) yield* addPostings(bits, largest.source, scope.poll)
  if (scope.accepted !== undefined) intersect(bits, scope.accepted)
  if (!acceptsLive || !isSparse) return bitCount(bits)
  return largest.liveDocFreq + (yield* countWithout(bits, largest.source, scope))
}

/** Counts the members without the term. */
function* countWithout(
  bits: Bitset,
  source: PostingsSource,
  { docCount, poll }: CountScope,
): Sliced<number> {
  const cursor = new PostingsCursor(source)
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

export function* addPostings(bits: Bitset, source: PostingsSource, poll: Poll): Sliced<void> {
  yield* forEachBlock(source, poll, (docs, count) => setBits(bits, docs, count))
}

export function* forEachBlock(
  source: PostingsSource,
  poll: Poll,
  visit: (docs: Uint32Array, count: number) => void,
): Sliced<void> {
  const docs = new Uint32Array(Math.min(source.docFreq, BLOCK_LENGTH))
  for (let block = 0; block < source.blockCount; block += 1) {
    const count = source.decodeDocs(block, docs)
    visit(docs, count)
    if (poll.spend(count)) yield poll.renewed()
  }
}
