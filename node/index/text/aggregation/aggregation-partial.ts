// One shard's part of an aggregation. Partials of several shards are merged (merge-partials.ts) and
// become the result (aggregation-result.ts). They are plain data, because they travel between
// threads.

import { compareTexts } from '../encoding/compare-texts.ts'

export type AggregationPartials = ReadonlyMap<string, AggregationPartial>

export type AggregationPartial = NumbersPartial | DistinctPartial | SketchPartial | BucketsPartial

/** The numbers of one shard, merged without loss of precision. */
export interface NumbersPartial {
  readonly kind: 'numbers'
  readonly count: number
  /** Infinity and -Infinity if there are no values. A decimal where no double means the number. */
  readonly min: BucketKey
  readonly max: BucketKey
  readonly sum: number
  readonly sumOfSquares: number
  readonly mean: number
  /** The sum of squared distances from the mean. Variances merge by it without cancellation. */
  readonly squaredDeviation: number
}

/** The distinct values themselves, while there are few. */
export interface DistinctPartial {
  readonly kind: 'distinct'
  readonly values: readonly BucketKey[]
}

/** The distinct values as HyperLogLog registers (distinct-counter.ts). */
export interface SketchPartial {
  readonly kind: 'sketch'
  readonly registers: Uint8Array
}

/** The buckets of one shard. */
export interface BucketsPartial {
  readonly kind: 'buckets'
  readonly buckets: readonly BucketPartial[]
  /** True if the shard had more buckets than it may keep. Merged counts may then be too low. */
  readonly isCut: boolean
  /**
   * Only for significant terms: the number of matching documents, and of documents to compare them
   * with.
   */
  readonly foundCount: number
  readonly backgroundCount: number
}

/** The documents of one shard in one bucket. */
export interface BucketPartial {
  readonly key: BucketKey
  readonly docCount: number
  /** Only for significant terms: the number of background documents with the term. */
  readonly backgroundCount: number
  readonly sub: AggregationPartials
}

/** A term, a geohash, the name of a range, or the number at which a bucket begins. */
export type BucketKey = string | number

export function compareBucketKeys(a: BucketKey, b: BucketKey): number {
  if (a === b) return 0
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1
  return a < b ? -1 : 1
}

/** Orders the most frequent first, and equal counts by key. */
export function byCount(
  a: { readonly key: BucketKey; readonly docCount: number },
  b: { readonly key: BucketKey; readonly docCount: number },
): number {
  return b.docCount - a.docCount || compareBucketKeys(a.key, b.key)
}
