// Turns merged partials into the result that the client receives.

import { must, unreachable } from '../../../../lib/assert.ts'
import { runAtOnce, StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { sortSliced } from '../../../document/sliced-sort.ts'
import {
  AGGREGATION_BUCKETS_MAX,
  type AggregationRequest,
  type Aggregations,
  type BucketAggregation,
  type NamedRange,
} from '../../../query/request/aggregation-request.ts'
import { tooManyBuckets } from './aggregation-context.ts'
import {
  byCount,
  compareBucketKeys,
  type AggregationPartial,
  type AggregationPartials,
  type BucketPartial,
  type BucketsPartial,
} from './aggregation-partial.ts'
import { timesDecimal } from '../../../document/decimal.ts'
import { dateBoundMs, nextIntervalStart } from './date-interval.ts'
import { metricResult, type MetricResult } from './metric-aggregation.ts'
import { significanceOf } from './significant-terms.ts'

export type AggregationResults = Readonly<Record<string, AggregationResult>>

export type AggregationResult = MetricResult | BucketsResult

interface BucketsResult {
  readonly buckets: readonly BucketResult[]
  /** Present if there are, or may be, more buckets than the request's size. */
  readonly truncated?: true
}

/** One bucket of a result, in the words of the contract. */
export interface BucketResult {
  readonly key: string
  /** Only for dates, in RFC 3339. */
  readonly key_as_string?: string
  readonly doc_count: number
  readonly from?: number
  readonly to?: number
  readonly from_as_string?: string
  readonly to_as_string?: string
  /** Only for significant terms. */
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
/** Building these takes about a millisecond. */
const BUCKETS_PER_STEP = 2000
/** The range of moments that a Date can hold. */
const TIME_MS_MAX = 8.64e15

/** Builds the results. Throws INVALID_ARGUMENT for more buckets than a result may have. */
export function aggregationResults(
  requests: Aggregations,
  partials: AggregationPartials,
  nowMs: number,
): AggregationResults {
  return runAtOnce(aggregationResultsSliced(requests, partials, nowMs))
}

/**
 * Builds results as `aggregationResults` does, in steps. Partials may have many more buckets than a
 * result.
 */
export function* aggregationResultsSliced(
  requests: Aggregations,
  partials: AggregationPartials,
  nowMs: number,
): Sliced<AggregationResults> {
  return yield* new ResultBuilder(nowMs).level(requests, partials)
}

/** The names of the aggregations, at any depth, whose counts may be too low. */
export function* cutAggregations(partials: AggregationPartials): Sliced<ReadonlySet<string>> {
  const names = new Set<string>()
  yield* addCut(partials, names, new StepMeter(BUCKETS_PER_STEP))
  return names
}

function* addCut(
  partials: AggregationPartials,
  names: Set<string>,
  meter: StepMeter,
): Sliced<void> {
  for (const [name, partial] of partials) {
    if (partial.kind !== 'buckets') continue
    if (partial.isCut) names.add(name)
    for (const { sub } of partial.buckets) {
      if (sub.size > 0) yield* addCut(sub, names, meter)
      if (meter.spend(1)) yield
    }
  }
}

class ResultBuilder {
  readonly #nowMs: number
  readonly #meter = new StepMeter(BUCKETS_PER_STEP)
  #bucketsLeft = AGGREGATION_BUCKETS_MAX

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  *level(requests: Aggregations, partials: AggregationPartials): Sliced<AggregationResults> {
    const results: [string, AggregationResult][] = []
    for (const [name, request] of requests) {
      results.push([name, yield* this.#one(request, partials.get(name))])
    }
    return Object.fromEntries(results)
  }

  *#one(
    request: AggregationRequest,
    partial: AggregationPartial | undefined,
  ): Sliced<AggregationResult> {
    if (request.kind === 'metric') return metricResult(request.metric, partial)
    const buckets = partial?.kind === 'buckets' ? partial : NO_BUCKETS
    switch (request.kind) {
      case 'terms':
      case 'geohash-grid':
        return yield* this.#frequent(request, buckets)
      case 'significant-terms':
        return yield* this.#significant(request, buckets)
      case 'histogram':
        return { buckets: yield* this.#histogram(request, buckets) }
      case 'date-histogram':
        return { buckets: yield* this.#dateHistogram(request, buckets) }
      case 'range':
      case 'date-range':
      case 'geo-distance':
        return { buckets: yield* this.#ranges(request, buckets) }
      default:
        return unreachable(request)
    }
  }

  /** Leaves out buckets without documents. Otherwise every term of the index would have one. */
  *#frequent(
    request: RequestOf<'terms' | 'geohash-grid'>,
    { buckets, isCut }: BucketsPartial,
  ): Sliced<BucketsResult> {
    const frequent = buckets.filter(({ docCount }) => docCount >= Math.max(1, request.minDocCount))
    const sorted = yield* sortSliced(frequent, byCount)
    const shown = sorted.slice(0, request.size)
    const results = yield* this.#each(request, shown, (bucket) => ({ bucket }))
    return bucketsResult(results, isCut || sorted.length > request.size)
  }

  *#significant(
    request: RequestOf<'significant-terms'>,
    { buckets, foundCount, backgroundCount, isCut }: BucketsPartial,
  ): Sliced<BucketsResult> {
    const scored = buckets
      .filter(({ docCount }) => docCount >= Math.max(1, request.minDocCount))
      .map((bucket) => {
        const { docCount, backgroundCount: termBackgroundCount } = bucket
        const shares = { docCount, foundCount, termBackgroundCount, backgroundCount }
        return { bucket, score: significanceOf(request.algorithm, shares) }
      })
    const sorted = yield* sortSliced(
      scored.filter(({ score }) => score > 0),
      (a, b) => b.score - a.score || compareBucketKeys(a.bucket.key, b.bucket.key),
    )
    const shown = sorted.slice(0, request.size)
    const results = yield* this.#each(request, shown, ({ bucket, score }) => ({
      bucket,
      more: { score, bg_count: bucket.backgroundCount },
    }))
    return bucketsResult(results, isCut || sorted.length > request.size)
  }

  *#histogram(
    request: RequestOf<'histogram'>,
    { buckets }: BucketsPartial,
  ): Sliced<readonly BucketResult[]> {
    const filled = yield* this.#filled(buckets, request.minDocCount, (index) => index + 1)
    return yield* this.#each(request, filled, (bucket) => ({
      bucket,
      more: { key: timesDecimal(request.interval, numberKey(bucket)) },
    }))
  }

  *#dateHistogram(
    request: RequestOf<'date-histogram'>,
    { buckets }: BucketsPartial,
  ): Sliced<readonly BucketResult[]> {
    const next = (startMs: number): number => nextIntervalStart(request.interval, startMs)
    const filled = yield* this.#filled(buckets, request.minDocCount, next)
    return yield* this.#each(request, filled, (bucket) => ({
      bucket,
      more: { key_as_string: timeText(numberKey(bucket)) },
    }))
  }

  /** The buckets in order, with the empty ones between them if `minDocCount` is 0. */
  *#filled(
    buckets: readonly BucketPartial[],
    minDocCount: number,
    next: (key: number) => number,
  ): Sliced<readonly BucketPartial[]> {
    const ordered = yield* sortSliced(buckets, (a, b) => numberKey(a) - numberKey(b))
    if (minDocCount > 0) return ordered.filter(({ docCount }) => docCount >= minDocCount)
    const filled: BucketPartial[] = []
    for (const bucket of ordered) {
      const before = filled.at(-1)
      let key = before === undefined ? numberKey(bucket) : next(numberKey(before))
      for (; key < numberKey(bucket); key = next(key)) {
        if (filled.length > this.#bucketsLeft) throw tooManyBuckets()
        filled.push({ key, docCount: 0, backgroundCount: 0, sub: NO_SUB })
        if (this.#meter.spend(1)) yield
      }
      filled.push(bucket)
      if (this.#meter.spend(1)) yield
    }
    return filled
  }

  /** All requested ranges in their order, also the empty ones. */
  *#ranges(request: RangeRequest, { buckets }: BucketsPartial): Sliced<readonly BucketResult[]> {
    const byName = new Map(buckets.map((bucket) => [bucket.key, bucket]))
    const isDate = request.kind === 'date-range'
    return yield* this.#each(request, this.#numberRanges(request), ({ name, from, to }) => ({
      bucket: byName.get(name) ?? { key: name, docCount: 0, backgroundCount: 0, sub: NO_SUB },
      more: {
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        ...(from === undefined || !isDate ? {} : { from_as_string: timeText(from) }),
        ...(to === undefined || !isDate ? {} : { to_as_string: timeText(to) }),
      },
    }))
  }

  #numberRanges(request: RangeRequest): readonly NamedRange<number>[] {
    if (request.kind !== 'date-range') return request.ranges
    return request.ranges.map(({ name, from, to }) => ({
      name,
      from: from && dateBoundMs(from, this.#nowMs),
      to: to && dateBoundMs(to, this.#nowMs),
    }))
  }

  /** One bucket for each item, with the members that the kind of aggregation adds. */
  *#each<Item>(
    { sub }: { readonly sub: Aggregations },
    items: readonly Item[],
    read: (item: Item) => { readonly bucket: BucketPartial; readonly more?: Partial<BucketResult> },
  ): Sliced<readonly BucketResult[]> {
    const results: BucketResult[] = []
    for (const item of items) {
      const { bucket, more } = read(item)
      this.#bucketsLeft -= 1
      if (this.#bucketsLeft < 0) throw tooManyBuckets()
      const inner =
        sub.size === 0 ? undefined : { sub_aggregations: yield* this.level(sub, bucket.sub) }
      results.push({ key: String(bucket.key), doc_count: bucket.docCount, ...inner, ...more })
      if (this.#meter.spend(1)) yield
    }
    return results
  }
}

function bucketsResult(buckets: readonly BucketResult[], isCut: boolean): BucketsResult {
  return isCut ? { buckets, truncated: true } : { buckets }
}

function numberKey({ key }: BucketPartial): number {
  return must(typeof key === 'number' ? key : undefined, 'a number as the key of an interval')
}

function timeText(timeMs: number): string {
  const isTime = Math.abs(timeMs) <= TIME_MS_MAX
  return isTime ? new Date(timeMs).toISOString() : String(timeMs)
}
