// Gathers one shard's part of a query's aggregations, over all documents that the query matches.

import { unreachable } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { AggregationRequest, Aggregations } from '../../../query/aggregation-request.ts'
import { AggregationContext } from './aggregation-context.ts'
import type { AggregationSource, BucketWalk, GatherSub } from './aggregation-context.ts'
import type {
  AggregationPartial,
  AggregationPartials,
  BucketKey,
  BucketsPartial,
} from './aggregation-partial.ts'
import type { DocSet } from './doc-set.ts'
import { gatherBuckets } from './gather-buckets.ts'
import { walkDistances, walkGeohashes } from './geo-buckets.ts'
import { gatherMetric } from './metric-aggregation.ts'
import { walkDateHistogram, walkDateRanges, walkHistogram, walkRanges } from './number-buckets.ts'
import { gatherSignificant } from './significant-terms.ts'
import { gatherTerms } from './terms-aggregation.ts'

export function gatherAggregations(
  source: AggregationSource,
  requests: Aggregations,
  set: DocSet,
): Sliced<AggregationPartials> {
  return gatherLevel(new AggregationContext(source), requests, set)
}

function* gatherLevel(
  context: AggregationContext,
  requests: Aggregations,
  set: DocSet,
): Sliced<AggregationPartials> {
  const partials = new Map<string, AggregationPartial>()
  for (const [name, request] of requests) {
    partials.set(name, yield* gatherOne(context, request, set))
  }
  return partials
}

function* gatherOne(
  context: AggregationContext,
  request: AggregationRequest,
  set: DocSet,
): Sliced<AggregationPartial> {
  if (request.kind === 'metric') return yield* gatherMetric(context, request, set)
  const below: GatherSub = (docs) => gatherLevel(context, request.sub, docs)
  const sub = request.sub.size === 0 ? undefined : below
  const buckets = (walk: BucketWalk<BucketKey>): Sliced<BucketsPartial> =>
    sortedIntoBuckets(context, set, { walk, sub })
  switch (request.kind) {
    case 'terms':
      return yield* gatherTerms(context, request, { set, sub })
    case 'significant-terms':
      return yield* gatherSignificant(context, request, { set, sub })
    case 'histogram':
      return yield* buckets(walkHistogram(context, request))
    case 'date-histogram':
      return yield* buckets(walkDateHistogram(context, request))
    case 'range':
      return yield* buckets(walkRanges(context, request))
    case 'date-range':
      return yield* buckets(walkDateRanges(context, request))
    case 'geohash-grid':
      return yield* buckets(walkGeohashes(context, request))
    case 'geo-distance':
      return yield* buckets(walkDistances(context, request))
    default:
      return unreachable(request)
  }
}

function* sortedIntoBuckets(
  context: AggregationContext,
  set: DocSet,
  how: { readonly walk: BucketWalk<BucketKey>; readonly sub: GatherSub | undefined },
): Sliced<BucketsPartial> {
  const buckets = yield* gatherBuckets(context, set, how)
  return { kind: 'buckets', buckets, isCut: false, foundCount: 0, backgroundCount: 0 }
}
