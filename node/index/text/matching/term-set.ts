// The documents of a frequent term as a set, which is kept beside its postings: whether a document has the term is one
// look then, and how many documents have several terms is counted 32 documents at a time.

import type { Sliced } from '../../../../lib/sliced.ts'
import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import { newBitset, setBits, type Bitset } from '../../encoding/bitset.ts'
import type { SegmentTerm } from '../live/live-segment.ts'
import { isFrequent } from '../live/term-cache.ts'
import type { Poll } from '../poll.ts'
import type { PostingsSource } from '../postings/postings-source.ts'

/** Deleted documents are among them. Undefined for a term that is not frequent, or of a segment that grows. */
export function* documentsOf(
  { source, keeper }: SegmentTerm,
  docCount: number,
  poll: Poll,
): Sliced<Bitset | undefined> {
  if (keeper === undefined || !isFrequent(source.docFreq, docCount)) return undefined
  if (keeper.documents !== undefined) return keeper.documents
  const bits = newBitset(docCount)
  yield* addPostings(bits, source, poll)
  keeper.documents = bits
  return bits
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
