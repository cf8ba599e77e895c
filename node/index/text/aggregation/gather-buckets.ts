import type { Sliced } from '../../../../lib/sliced.ts'
import type { AggregationContext, BucketWalk, GatherSub } from './aggregation-context.ts'
import type { BucketKey, BucketPartial } from './aggregation-partial.ts'
import type { DocSet } from './doc-set.ts'

/** The cost of a bucket, whatever it contains. */
const BUCKET_COST = 32
/** Documents that cost a unit to copy. */
const DOCS_PER_COST = 16

interface OpenBucket {
  docCount: number
  /** The bucket's documents in the current segment. Empty if there are no sub-aggregations. */
  docs: number[]
  readonly parts: DocSet[number][]
}

/** Sorts documents into buckets. Without `sub` it only counts them. */
export function* gatherBuckets<Key extends BucketKey>(
  context: AggregationContext,
  set: DocSet,
  { walk, sub }: { readonly walk: BucketWalk<Key>; readonly sub: GatherSub | undefined },
): Sliced<readonly BucketPartial[]> {
  const open = new Map<Key, OpenBucket>()
  for (const part of set) {
    yield* walk(part, (key, doc) => {
      let bucket = open.get(key)
      if (bucket === undefined) {
        context.takeBucket()
        bucket = { docCount: 0, docs: [], parts: [] }
        open.set(key, bucket)
      }
      bucket.docCount += 1
      if (sub !== undefined) bucket.docs.push(doc)
    })
    for (const bucket of open.values()) {
      const cost = BUCKET_COST + bucket.docs.length / DOCS_PER_COST
      if (context.poll.spend(cost)) yield context.poll.renewed()
      if (bucket.docs.length === 0) continue
      bucket.parts.push({ segment: part.segment, docs: Uint32Array.from(bucket.docs) })
      bucket.docs = []
    }
  }
  const buckets: BucketPartial[] = []
  for (const [key, { docCount, parts }] of open) {
    const partials = sub === undefined ? new Map() : yield* sub(parts)
    if (context.poll.spend(BUCKET_COST)) yield context.poll.renewed()
    buckets.push({ key, docCount, backgroundCount: 0, sub: partials })
  }
  return buckets
}
