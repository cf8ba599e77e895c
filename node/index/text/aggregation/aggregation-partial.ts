// What one shard knows about an aggregation. Partials of several shards merge into one
// (merge-partials.ts), which becomes the result (aggregation-result.ts). Plain data, as they travel.

export type AggregationPartials = ReadonlyMap<string, AggregationPartial>

export type AggregationPartial = NumbersPartial | DistinctPartial | SketchPartial | BucketsPartial

export interface NumbersPartial {
  readonly kind: 'numbers'
  readonly count: number
  /** Infinity and -Infinity for no values. */
  readonly min: number
  readonly max: number
  readonly sum: number
  readonly sumOfSquares: number
  readonly mean: number
  /** The sum of squared distances from the mean: what variances merge by without cancellation. */
  readonly squaredDeviation: number
}

/** The values themselves, while they are few. */
export interface DistinctPartial {
  readonly kind: 'distinct'
  readonly values: readonly BucketKey[]
}

/** HyperLogLog registers (distinct-sketch.ts). */
export interface SketchPartial {
  readonly kind: 'sketch'
  readonly registers: Uint8Array
}

export interface BucketsPartial {
  readonly kind: 'buckets'
  readonly buckets: readonly BucketPartial[]
  /** Whether there were more buckets than could be kept, so that merged counts may be too low. */
  readonly isCut: boolean
  /** Of significant terms: how many documents were found, and how many they are compared with. */
  readonly foundCount: number
  readonly backgroundCount: number
}

export interface BucketPartial {
  readonly key: BucketKey
  readonly docCount: number
  /** Of significant terms: in how many documents of the background. */
  readonly backgroundCount: number
  readonly sub: AggregationPartials
}

/** A term, a geohash, the name of a range, or the number that a bucket begins with. */
export type BucketKey = string | number

export function compareBucketKeys(a: BucketKey, b: BucketKey): number {
  if (a === b) return 0
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1
  return a < b ? -1 : 1
}

/** The most frequent first; ties by key. */
export function byCount(
  a: { readonly key: BucketKey; readonly docCount: number },
  b: { readonly key: BucketKey; readonly docCount: number },
): number {
  return b.docCount - a.docCount || compareBucketKeys(a.key, b.key)
}
