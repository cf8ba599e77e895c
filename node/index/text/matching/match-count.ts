// How many documents match, exactly, where the search for the best of them need not see them all.

import { BLOCK_LENGTH } from '../postings/bit-packing.ts'
import { PostingsCursor } from '../postings/postings-cursor.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import { intersect, newBitset, nextBit, setBit, type Bitset } from '../engine/bitset.ts'
import { isAccepted, u32At } from './bulk-search.ts'
import type { Poll } from '../engine/poll.ts'

/** Looking up a document costs about as much as walking so many. */
const SPARSE_RATIO = 16

export interface CountScope {
  readonly docCount: number
  /** The documents that count; undefined for all. */
  readonly accepted: Bitset | undefined
  readonly poll: Poll
}

/** Documents with the term. */
export function countTerm(source: PostingsSource, { accepted, poll }: CountScope): number {
  if (accepted === undefined) return source.docFreq
  let total = 0
  forEachBlock(source, poll, (docs, count) => {
    for (let i = 0; i < count; i += 1) if (isAccepted(accepted, u32At(docs, i))) total += 1
  })
  return total
}

/** A term, and how many documents of the segment that are not deleted have it. */
export interface CountedTerm {
  readonly source: PostingsSource
  readonly liveDocFreq: number
}

/**
 * Documents with any of the terms. Where all live documents count, as `acceptsLive` says, the most
 * frequent term need not be walked: it is asked about the documents of the others alone.
 */
export function countAnyTerm(
  terms: readonly CountedTerm[],
  scope: CountScope,
  acceptsLive: boolean,
): number {
  const [largest, ...others] = terms.toSorted((a, b) => b.source.docFreq - a.source.docFreq)
  if (largest === undefined) return 0
  const bits = newBitset(scope.docCount)
  for (const { source } of others) addPostings(bits, source, scope.poll)
  const otherPostings = others.reduce((sum, { source }) => sum + source.docFreq, 0)
  const isSparse = otherPostings * SPARSE_RATIO < largest.source.docFreq
  if (!acceptsLive || !isSparse) addPostings(bits, largest.source, scope.poll)
  if (scope.accepted !== undefined) intersect(bits, scope.accepted)
  if (!acceptsLive || !isSparse) return bitCount(bits)
  return largest.liveDocFreq + countWithout(bits, largest.source, scope)
}

/** Members that do not have the term. */
function countWithout(
  bits: Bitset,
  source: PostingsSource,
  { docCount, poll }: CountScope,
): number {
  const cursor = new PostingsCursor(source)
  let total = 0
  for (
    let doc = nextBit(bits, 0, docCount);
    doc < docCount;
    doc = nextBit(bits, doc + 1, docCount)
  ) {
    poll.spend(4)
    if (cursor.doc < doc) cursor.advance(doc)
    if (cursor.doc !== doc) total += 1
  }
  return total
}

export function addPostings(bits: Bitset, source: PostingsSource, poll: Poll): void {
  forEachBlock(source, poll, (docs, count) => {
    for (let i = 0; i < count; i += 1) setBit(bits, u32At(docs, i))
  })
}

export function forEachBlock(
  source: PostingsSource,
  poll: Poll,
  visit: (docs: Uint32Array, count: number) => void,
): void {
  const docs = new Uint32Array(BLOCK_LENGTH)
  for (let block = 0; block < source.blockCount; block += 1) {
    const count = source.decodeDocs(block, docs)
    poll.spend(count)
    visit(docs, count)
  }
}

/** The number of members, 32 at a time by the halving sums of Hacker's Delight, 5-1. */
function bitCount(bits: Bitset): number {
  let total = 0
  for (let i = 0; i < bits.length; i += 1) {
    let word = u32At(bits, i)
    word -= (word >>> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
    word = (word + (word >>> 4)) & 0x0f0f0f0f
    total += Math.imul(word, 0x01010101) >>> 24
  }
  return total
}
