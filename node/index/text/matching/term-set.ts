// The documents of a frequent term as a set, which is kept beside its postings: whether a document has the term is one
// look then, and how many documents have several terms is counted 32 documents at a time.

import type { Sliced } from '../../../../lib/sliced.ts'
import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import { bitCountOfAll, newBitset, setBits, unite, type Bitset } from '../../encoding/bitset.ts'
import type { SegmentTerm } from '../live/live-segment.ts'
import { isFrequent } from '../live/term-cache.ts'
import type { Poll } from '../poll.ts'
import type { PostingsSource } from '../postings/postings-source.ts'

/** Words of sets that are combined in the time of one unit of work. */
const WORDS_PER_UNIT = 8
/** The words of each set that are combined in one go. */
const WORDS_AT_ONCE = 4096

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

/** Adds to `bits` what is in `other`. */
export function* addSet(bits: Bitset, other: Bitset, poll: Poll): Sliced<void> {
  unite(bits, other)
  if (poll.spend(bits.length / WORDS_PER_UNIT)) yield poll.renewed()
}

/** The number of members of `bits` that are also in each of `others`. */
export function* countOfAll(bits: Bitset, others: readonly Bitset[], poll: Poll): Sliced<number> {
  let total = 0
  for (let from = 0; from < bits.length; from += WORDS_AT_ONCE) {
    const piece = (set: Bitset): Bitset => set.subarray(from, from + WORDS_AT_ONCE)
    const first = piece(bits)
    total += bitCountOfAll(first, others.map(piece))
    if (poll.spend((first.length * (others.length + 1)) / WORDS_PER_UNIT)) yield poll.renewed()
  }
  return total
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
