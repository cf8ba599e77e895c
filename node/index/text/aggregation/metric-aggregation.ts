import type { Sliced } from '../../../../lib/sliced.ts'
import type { AggregationRequest, Metric } from '../../../query/request/aggregation-request.ts'
import type { AggregationContext } from './aggregation-context.ts'
import type { RawNumber } from '../../../document/exact-json.ts'
import type { AggregationPartial, BucketKey, NumbersPartial } from './aggregation-partial.ts'
import { exactColumn, ExactExtremes, exactKey, greaterOf, lesserOf } from './exact-values.ts'
import { walkValues, type DocSet, type SegmentDocs } from './doc-set.ts'
import { DistinctCounter } from './distinct-counter.ts'

export type MetricRequest = Extract<AggregationRequest, { readonly kind: 'metric' }>

/** The cost of reading a term's text. */
const TERM_COST = 64

const NO_NUMBERS: NumbersPartial = {
  kind: 'numbers',
  count: 0,
  min: Infinity,
  max: -Infinity,
  sum: 0,
  sumOfSquares: 0,
  mean: 0,
  squaredDeviation: 0,
}

export function* gatherMetric(
  context: AggregationContext,
  request: MetricRequest,
  set: DocSet,
): Sliced<AggregationPartial> {
  const { metric, field } = request
  if (metric === 'cardinality') return yield* gatherDistinct(context, field, set)
  if (metric === 'count') return yield* gatherCount(context, field, set)
  return yield* gatherNumbers(context, request, set)
}

function* gatherNumbers(
  context: AggregationContext,
  { metric, field }: MetricRequest,
  set: DocSet,
): Sliced<NumbersPartial> {
  const found = context.column(field, `${metric} needs numbers or dates`, ['number'])
  if (found === undefined) return NO_NUMBERS
  let [count, sum] = [0, 0]
  let [min, max]: [BucketKey, BucketKey] = [Infinity, -Infinity]
  let [sumOfSquares, mean, squaredDeviation] = [0, 0, 0]
  for (const { segment, docs } of set) {
    const column = segment.field(found.indexField)?.column
    if (column === undefined) continue
    const terms = yield* exactColumn(segment, found.indexField)
    const exact = terms && new ExactExtremes(terms)
    let [least, greatest] = [Infinity, -Infinity]
    const visit = (doc: number, values: Float64Array, from: number, to: number): void => {
      const isExact = exact?.take(doc) === true
      for (let i = from; i < to; i += 1) {
        const value = values[i] ?? 0
        count += 1
        if (!isExact && value < least) least = value
        if (!isExact && value > greatest) greatest = value
        sum += value
        sumOfSquares += value * value
        const distance = value - mean // Welford's algorithm
        mean += distance / count
        squaredDeviation += distance * (value - mean)
      }
    }
    yield* walkValues(docs, column, { poll: context.poll, visit })
    const extremes = exact?.extremes()
    min = lesserOf(lesserOf(min, least), extremes?.min ?? Infinity)
    max = greaterOf(greaterOf(max, greatest), extremes?.max ?? -Infinity)
  }
  return { kind: 'numbers', count, min, max, sum, sumOfSquares, mean, squaredDeviation }
}

/** Counts values of any type. */
function* gatherCount(
  context: AggregationContext,
  field: string,
  set: DocSet,
): Sliced<NumbersPartial> {
  const found = context.column(field, 'count needs a field with a column')
  let count = 0
  for (const { segment, docs } of set) {
    const column = found && segment.field(found.indexField)?.column
    if (column === undefined) continue
    const perValue = column.kind === 'point' ? 2 : 1
    const visit = (_doc: number, _values: Float64Array, from: number, to: number): void => {
      count += (to - from) / perValue
    }
    yield* walkValues(docs, column, { poll: context.poll, visit })
  }
  return { ...NO_NUMBERS, count }
}

function* gatherDistinct(
  context: AggregationContext,
  field: string,
  set: DocSet,
): Sliced<AggregationPartial> {
  const needs = 'cardinality needs keywords, numbers or dates'
  const found = context.column(field, needs, ['number', 'keyword'])
  const counter = new DistinctCounter()
  if (found !== undefined) {
    const { indexField } = found
    for (const part of set) yield* countDistinct(context, part, { indexField, counter })
  }
  return counter.partial()
}

function* countDistinct(
  context: AggregationContext,
  { segment, docs }: SegmentDocs,
  { indexField, counter }: { readonly indexField: string; readonly counter: DistinctCounter },
): Sliced<void> {
  const field = segment.field(indexField)
  const column = field?.column
  if (column === undefined) return
  yield* field?.prepareTerms() ?? []
  const exact = yield* exactColumn(segment, indexField)
  const seen = new Set<number>()
  const seenExact = new Set<number>()
  const visit = (doc: number, values: Float64Array, from: number, to: number): void => {
    const exactCount = exact?.count(doc) ?? 0
    for (let i = 0; i < exactCount; i += 1) seenExact.add(exact?.value(doc, i) ?? 0)
    if (exactCount > 0) return
    for (let i = from; i < to; i += 1) seen.add(values[i] ?? 0)
  }
  yield* walkValues(docs, column, { poll: context.poll, visit })
  const isKeyword = column.kind === 'keyword'
  for (const value of seen) {
    counter.add(isKeyword ? column.termOf(value) : value)
    if (context.poll.spend(TERM_COST)) yield context.poll.renewed()
  }
  for (const ordinal of seenExact) {
    counter.add(exactKey(exact?.termOf(ordinal) ?? ''))
    if (context.poll.spend(TERM_COST)) yield context.poll.renewed()
  }
}

/** Merges by Chan's formula for the deviation of two sets together. */
export function mergeNumbers(a: NumbersPartial, b: NumbersPartial): NumbersPartial {
  if (a.count === 0) return b
  if (b.count === 0) return a
  const count = a.count + b.count
  const distance = b.mean - a.mean
  return {
    kind: 'numbers',
    count,
    min: lesserOf(a.min, b.min),
    max: greaterOf(a.max, b.max),
    sum: a.sum + b.sum,
    sumOfSquares: a.sumOfSquares + b.sumOfSquares,
    mean: a.mean + (distance * b.count) / count,
    squaredDeviation:
      a.squaredDeviation + b.squaredDeviation + (distance * distance * a.count * b.count) / count,
  }
}

export function mergeDistinct(a: AggregationPartial, b: AggregationPartial): AggregationPartial {
  const counter = new DistinctCounter()
  for (const partial of [a, b]) {
    if (partial.kind === 'distinct') for (const value of partial.values) counter.add(value)
    if (partial.kind === 'sketch') counter.addSketch(partial.registers)
  }
  return counter.partial()
}

/** The result of `stats`, in the words of the contract. A member is null if there are no values. */
export interface StatsResult {
  readonly count: number
  readonly min: number | RawNumber | null
  readonly max: number | RawNumber | null
  readonly sum: number
  readonly sum_of_squares: number
  readonly avg: number | null
  /** The variance of the whole population: divided by the count. */
  readonly variance: number | null
  readonly std_deviation: number | null
}

/** A member that needs values is null if there are none. */
function statsOf(numbers: NumbersPartial): StatsResult {
  const { count, min, max, sum, sumOfSquares, squaredDeviation } = numbers
  const isEmpty = count === 0
  const variance = isEmpty ? null : squaredDeviation / count
  return {
    count,
    min: isEmpty ? null : jsonNumberOf(min),
    max: isEmpty ? null : jsonNumberOf(max),
    sum,
    sum_of_squares: sumOfSquares,
    avg: isEmpty ? null : sum / count,
    variance,
    std_deviation: variance === null ? null : Math.sqrt(variance),
  }
}

function jsonNumberOf(value: BucketKey): number | RawNumber {
  return typeof value === 'number' ? value : JSON.rawJSON(value)
}

const VALUE_OF: Readonly<
  Record<
    Exclude<Metric, 'cardinality' | 'stats'>,
    (stats: StatsResult) => number | RawNumber | null
  >
> = {
  sum: ({ sum }) => sum,
  avg: ({ avg }) => avg,
  min: ({ min }) => min,
  max: ({ max }) => max,
  count: ({ count }) => count,
  sumsquares: ({ sum_of_squares: sum }) => sum,
}

export type MetricResult = StatsResult | { readonly value: number | RawNumber | null }

export function metricResult(
  metric: Metric,
  partial: AggregationPartial | undefined,
): MetricResult {
  if (metric === 'cardinality') return { value: distinctCount(partial) }
  const stats = statsOf(partial?.kind === 'numbers' ? partial : NO_NUMBERS)
  return metric === 'stats' ? stats : { value: VALUE_OF[metric](stats) }
}

function distinctCount(partial: AggregationPartial | undefined): number {
  const counter = new DistinctCounter()
  if (partial?.kind === 'sketch') counter.addSketch(partial.registers)
  if (partial?.kind === 'distinct') return partial.values.length
  return counter.count()
}
