// One shard's part of the aggregations of a query, over all documents that it finds.

import { unreachable } from '../../../../lib/assert.ts'
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
): AggregationPartials {
  return gatherLevel(new AggregationContext(source), requests, set)
}

function gatherLevel(
  context: AggregationContext,
  requests: Aggregations,
  set: DocSet,
): AggregationPartials {
  return new Map([...requests].map(([name, request]) => [name, gatherOne(context, request, set)]))
}

function gatherOne(
  context: AggregationContext,
  request: AggregationRequest,
  set: DocSet,
): AggregationPartial {
  if (request.kind === 'metric') return gatherMetric(context, request, set)
  const below: GatherSub = (docs) => gatherLevel(context, request.sub, docs)
  const sub = request.sub.size === 0 ? undefined : below
  const buckets = (walk: BucketWalk<BucketKey>): BucketsPartial => ({
    kind: 'buckets',
    buckets: gatherBuckets(context, set, { walk, sub }),
    isCut: false,
    foundCount: 0,
    backgroundCount: 0,
  })
  switch (request.kind) {
    case 'terms':
      return gatherTerms(context, request, { set, sub })
    case 'significant-terms':
      return gatherSignificant(context, request, { set, sub })
    case 'histogram':
      return buckets(walkHistogram(context, request))
    case 'date-histogram':
      return buckets(walkDateHistogram(context, request))
    case 'range':
      return buckets(walkRanges(context, request))
    case 'date-range':
      return buckets(walkDateRanges(context, request))
    case 'geohash-grid':
      return buckets(walkGeohashes(context, request))
    case 'geo-distance':
      return buckets(walkDistances(context, request))
    default:
      return unreachable(request)
  }
}
