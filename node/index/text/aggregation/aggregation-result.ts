// From merged partials to what the client is told.

import { must, unreachable } from '../../../../lib/assert.ts'
import {
  AGGREGATION_BUCKETS_MAX,
  type AggregationRequest,
  type Aggregations,
  type BucketAggregation,
  type NamedRange,
} from '../../../query/aggregation-request.ts'
import { tooManyBuckets } from './aggregation-context.ts'
import {
  byCount,
  compareBucketKeys,
  type AggregationPartial,
  type AggregationPartials,
  type BucketPartial,
  type BucketsPartial,
} from './aggregation-partial.ts'
import { dateBoundMs, nextIntervalStart } from './date-interval.ts'
import { metricResult, type MetricResult } from './metric-aggregation.ts'
import { significanceOf } from './significant-terms.ts'

export type AggregationResults = Readonly<Record<string, AggregationResult>>

export type AggregationResult = MetricResult | { readonly buckets: readonly BucketResult[] }

export interface BucketResult {
  readonly key: string
  /** Of dates: RFC 3339. */
  readonly key_as_string?: string
  readonly doc_count: number
  readonly from?: number
  readonly to?: number
  readonly from_as_string?: string
  readonly to_as_string?: string
  /** Of significant terms. */
  readonly score?: number
  readonly bg_count?: number
  readonly sub_aggregations?: AggregationResults
}

type RequestOf<Kind extends BucketAggregation['kind']> = Extract<
  AggregationRequest,
  { readonly kind: Kind }
>
type RangeRequest = RequestOf<'range' | 'date-range' | 'geo-distance'>

const NO_SUB: AggregationPartials = new Map()
const NO_BUCKETS: BucketsPartial = {
  kind: 'buckets',
  buckets: [],
  isCut: false,
  foundCount: 0,
  backgroundCount: 0,
}
/** The moments that a Date can hold. */
const TIME_MS_MAX = 8.64e15

/** INVALID_ARGUMENT if there are more buckets than a result may have. */
export function aggregationResults(
  requests: Aggregations,
  partials: AggregationPartials,
  nowMs: number,
): AggregationResults {
  return new ResultBuilder(nowMs).level(requests, partials)
}

/** The names of the aggregations, at any depth, whose counts may be too low. */
export function cutAggregations(partials: AggregationPartials): readonly string[] {
  const names = new Set<string>()
  for (const [name, partial] of partials) {
    if (partial.kind !== 'buckets') continue
    if (partial.isCut) names.add(name)
    for (const { sub } of partial.buckets) for (const one of cutAggregations(sub)) names.add(one)
  }
  return [...names]
}

class ResultBuilder {
  readonly #nowMs: number
  #bucketsLeft = AGGREGATION_BUCKETS_MAX

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  level(requests: Aggregations, partials: AggregationPartials): AggregationResults {
    return Object.fromEntries(
      [...requests].map(([name, request]) => [name, this.#one(request, partials.get(name))]),
    )
  }

  #one(request: AggregationRequest, partial: AggregationPartial | undefined): AggregationResult {
    if (request.kind === 'metric') return metricResult(request.metric, partial)
    const buckets = partial?.kind === 'buckets' ? partial : NO_BUCKETS
    switch (request.kind) {
      case 'terms':
      case 'geohash-grid':
        return { buckets: this.#frequent(request, buckets) }
      case 'significant-terms':
        return { buckets: this.#significant(request, buckets) }
      case 'histogram':
        return { buckets: this.#histogram(request, buckets) }
      case 'date-histogram':
        return { buckets: this.#dateHistogram(request, buckets) }
      case 'range':
      case 'date-range':
      case 'geo-distance':
        return { buckets: this.#ranges(request, buckets) }
      default:
        return unreachable(request)
    }
  }

  /** A bucket without documents would be one of any term there is, so that there is none. */
  #frequent(
    request: RequestOf<'terms' | 'geohash-grid'>,
    { buckets }: BucketsPartial,
  ): readonly BucketResult[] {
    return buckets
      .filter(({ docCount }) => docCount >= Math.max(1, request.minDocCount))
      .toSorted(byCount)
      .slice(0, request.size)
      .map((bucket) => this.#bucket(request, bucket))
  }

  #significant(
    request: RequestOf<'significant-terms'>,
    { buckets, foundCount, backgroundCount }: BucketsPartial,
  ): readonly BucketResult[] {
    const scored = buckets
      .filter(({ docCount }) => docCount >= Math.max(1, request.minDocCount))
      .map((bucket) => {
        const { docCount, backgroundCount: termBackgroundCount } = bucket
        const shares = { docCount, foundCount, termBackgroundCount, backgroundCount }
        return { bucket, score: significanceOf(request.algorithm, shares) }
      })
    return scored
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score || compareBucketKeys(a.bucket.key, b.bucket.key))
      .slice(0, request.size)
      .map(({ bucket, score }) => ({
        ...this.#bucket(request, bucket),
        score,
        bg_count: bucket.backgroundCount,
      }))
  }

  #histogram(
    request: RequestOf<'histogram'>,
    { buckets }: BucketsPartial,
  ): readonly BucketResult[] {
    const filled = this.#filled(buckets, request.minDocCount, (index) => index + 1)
    return filled.map((bucket) => ({
      ...this.#bucket(request, bucket),
      key: String(numberKey(bucket) * request.interval),
    }))
  }

  #dateHistogram(
    request: RequestOf<'date-histogram'>,
    { buckets }: BucketsPartial,
  ): readonly BucketResult[] {
    const next = (startMs: number): number => nextIntervalStart(request.interval, startMs)
    const filled = this.#filled(buckets, request.minDocCount, next)
    return filled.map((bucket) => ({
      ...this.#bucket(request, bucket),
      key_as_string: timeText(numberKey(bucket)),
    }))
  }

  /** In order, with the empty buckets between them if `minDocCount` is 0. */
  #filled(
    buckets: readonly BucketPartial[],
    minDocCount: number,
    next: (key: number) => number,
  ): readonly BucketPartial[] {
    const ordered = buckets.toSorted((a, b) => numberKey(a) - numberKey(b))
    if (minDocCount > 0) return ordered.filter(({ docCount }) => docCount >= minDocCount)
    const filled: BucketPartial[] = []
    for (const bucket of ordered) {
      const before = filled.at(-1)
      let key = before === undefined ? numberKey(bucket) : next(numberKey(before))
      for (; key < numberKey(bucket); key = next(key)) {
        if (filled.length > this.#bucketsLeft) throw tooManyBuckets()
        filled.push({ key, docCount: 0, backgroundCount: 0, sub: NO_SUB })
      }
      filled.push(bucket)
    }
    return filled
  }

  /** As many as were asked for, in that order, also the empty ones. */
  #ranges(request: RangeRequest, { buckets }: BucketsPartial): readonly BucketResult[] {
    const byName = new Map(buckets.map((bucket) => [bucket.key, bucket]))
    const isDate = request.kind === 'date-range'
    return this.#numberRanges(request).map(({ name, from, to }) => {
      const empty = { key: name, docCount: 0, backgroundCount: 0, sub: NO_SUB }
      return {
        ...this.#bucket(request, byName.get(name) ?? empty),
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        ...(from === undefined || !isDate ? {} : { from_as_string: timeText(from) }),
        ...(to === undefined || !isDate ? {} : { to_as_string: timeText(to) }),
      }
    })
  }

  #numberRanges(request: RangeRequest): readonly NamedRange<number>[] {
    if (request.kind !== 'date-range') return request.ranges
    return request.ranges.map(({ name, from, to }) => ({
      name,
      from: from && dateBoundMs(from, this.#nowMs),
      to: to && dateBoundMs(to, this.#nowMs),
    }))
  }

  #bucket({ sub }: { readonly sub: Aggregations }, bucket: BucketPartial): BucketResult {
    this.#bucketsLeft -= 1
    if (this.#bucketsLeft < 0) throw tooManyBuckets()
    const counted = { key: String(bucket.key), doc_count: bucket.docCount }
    return sub.size === 0 ? counted : { ...counted, sub_aggregations: this.level(sub, bucket.sub) }
  }
}

function numberKey({ key }: BucketPartial): number {
  return must(typeof key === 'number' ? key : undefined, 'a number as the key of an interval')
}

function timeText(timeMs: number): string {
  const isTime = Math.abs(timeMs) <= TIME_MS_MAX
  return isTime ? new Date(timeMs).toISOString() : String(timeMs)
}
