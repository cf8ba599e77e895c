// How many documents match, exactly, where the search for the best of them need not see them all.

import { BLOCK_LENGTH } from '../postings/bit-packing.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import { intersect, newBitset, setBit, type Bitset } from '../engine/bitset.ts'
import { isAccepted, u32At } from './bulk-search.ts'
import type { Poll } from '../engine/poll.ts'

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

/** Documents with any of the terms. */
export function countAnyTerm(sources: readonly PostingsSource[], scope: CountScope): number {
  const bits = newBitset(scope.docCount)
  for (const source of sources) {
    forEachBlock(source, scope.poll, (docs, count) => {
      for (let i = 0; i < count; i += 1) setBit(bits, u32At(docs, i))
    })
  }
  if (scope.accepted !== undefined) intersect(bits, scope.accepted)
  return bitCount(bits)
}

function forEachBlock(
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
