import type {
  AggregationPartial,
  AggregationPartials,
  BucketKey,
  BucketPartial,
  BucketsPartial,
} from './aggregation-partial.ts'
import { mergeDistinct, mergeNumbers } from './metric-aggregation.ts'

/** Of any number of shards; none is an empty map. */
export function mergePartials(all: readonly AggregationPartials[]): AggregationPartials {
  const merged = new Map<string, AggregationPartial>()
  for (const partials of all) {
    for (const [name, partial] of partials) {
      const known = merged.get(name)
      merged.set(name, known === undefined ? partial : mergeTwo(known, partial))
    }
  }
  return merged
}

/** Both come from one request, so that they are of one family. */
function mergeTwo(a: AggregationPartial, b: AggregationPartial): AggregationPartial {
  if (a.kind === 'buckets' && b.kind === 'buckets') return mergeBuckets(a, b)
  if (a.kind === 'numbers' && b.kind === 'numbers') return mergeNumbers(a, b)
  return mergeDistinct(a, b)
}

function mergeBuckets(a: BucketsPartial, b: BucketsPartial): BucketsPartial {
  const byKey = new Map<BucketKey, BucketPartial>(a.buckets.map((one) => [one.key, one]))
  for (const bucket of b.buckets) {
    const known = byKey.get(bucket.key)
    byKey.set(bucket.key, known === undefined ? bucket : mergeBucket(known, bucket))
  }
  return {
    kind: 'buckets',
    buckets: [...byKey.values()],
    isCut: a.isCut || b.isCut,
    foundCount: a.foundCount + b.foundCount,
    backgroundCount: a.backgroundCount + b.backgroundCount,
  }
}

function mergeBucket(a: BucketPartial, b: BucketPartial): BucketPartial {
  return {
    key: a.key,
    docCount: a.docCount + b.docCount,
    backgroundCount: a.backgroundCount + b.backgroundCount,
    sub: mergePartials([a.sub, b.sub]),
  }
}
