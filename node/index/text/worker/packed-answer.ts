// Answers with long lists of buckets on their way from a worker. Whoever receives a message reads all of it
// at once: sixty thousand buckets would hold up the event loop for tens of milliseconds. As bytes they
// cost a copy, and are read in steps.

import { deserialize, serialize } from 'node:v8'
import type { Sliced } from '../../../../lib/sliced.ts'
import type {
  AggregationPartial,
  AggregationPartials,
  BucketPartial,
} from '../aggregation/aggregation-partial.ts'
import type { TextSearchAnswer } from '../search/text-search.ts'

/** Written or read in less than a millisecond. */
const BUCKETS_PER_PIECE = 1024

export interface PackedAnswer extends TextSearchAnswer {
  /** By aggregation, the buckets that its partial lacks. */
  readonly packed?: ReadonlyMap<string, readonly Uint8Array[]>
}

export function* packAnswer(answer: TextSearchAnswer): Sliced<PackedAnswer> {
  const packed = new Map<string, readonly Uint8Array[]>()
  const aggregations = new Map<string, AggregationPartial>()
  for (const [name, partial] of answer.aggregations) {
    const isLong = partial.kind === 'buckets' && partial.buckets.length > BUCKETS_PER_PIECE
    if (isLong) packed.set(name, yield* piecesOf(partial.buckets))
    aggregations.set(name, isLong ? { ...partial, buckets: [] } : partial)
  }
  return packed.size === 0 ? answer : { ...answer, aggregations, packed }
}

function* piecesOf(buckets: readonly BucketPartial[]): Sliced<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for (let from = 0; from < buckets.length; from += BUCKETS_PER_PIECE) {
    pieces.push(serialize(buckets.slice(from, from + BUCKETS_PER_PIECE)))
    yield
  }
  return pieces
}

export function* unpackAnswer({ packed, ...answer }: PackedAnswer): Sliced<TextSearchAnswer> {
  if (packed === undefined) return answer
  return { ...answer, aggregations: yield* unpacked(answer.aggregations, packed) }
}

function* unpacked(
  partials: AggregationPartials,
  packed: ReadonlyMap<string, readonly Uint8Array[]>,
): Sliced<AggregationPartials> {
  const whole = new Map<string, AggregationPartial>()
  for (const [name, partial] of partials) {
    const pieces = packed.get(name)
    if (pieces === undefined || partial.kind !== 'buckets') {
      whole.set(name, partial)
      continue
    }
    const buckets: BucketPartial[] = []
    for (const piece of pieces) {
      // Our own worker wrote it.
      const some: readonly BucketPartial[] = deserialize(piece)
      for (const bucket of some) buckets.push(bucket)
      yield
    }
    whole.set(name, { ...partial, buckets })
  }
  return whole
}
