// Buckets of numbers and dates: ranges and intervals.

import { ServiceError } from '../../../../lib/errors.ts'
import { floorOfQuotient } from '../../../document/decimal.ts'
import type { BucketAggregation, NamedRange } from '../../../query/request/aggregation-request.ts'
import type { AggregationContext, BucketWalk } from './aggregation-context.ts'
import { rangeHolds, walkColumn } from './column-walk.ts'
import { dateBoundMs, intervalStart } from './date-interval.ts'

/** More than the relative errors of two doubles and of their quotient together. */
const ROUNDING_MAX = 4 * Number.EPSILON

type RequestOf<Kind extends BucketAggregation['kind']> = Extract<
  BucketAggregation,
  { readonly kind: Kind }
>

export function walkHistogram(
  context: AggregationContext,
  { field, interval }: RequestOf<'histogram'>,
): BucketWalk<number> {
  const indexField = numberField(context, field, 'histogram needs numbers')
  const indexOf = intervalIndex(interval)
  return walkMonotone(context, indexField, (value) => {
    const index = indexOf(value)
    if (Number.isSafeInteger(index)) return index
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `aggregations: interval ${interval} is too small for the value ${value} of "${field}"`,
    )
  })
}

/**
 * Finds the number of the interval that holds a value, from 0 for the one that begins at 0, by decimals: 0.3 is in the
 * third of 0.1. Values that are whole numbers of the interval's last digit, as most are, are compared as integers.
 */
export function intervalIndex(interval: number): (value: number) => number {
  const [, fraction = ''] = String(interval).split('.')
  const power = fraction.includes('e') ? 1 : 10 ** fraction.length
  const units = Math.round(interval * power)
  const isWhole = units >= 1 && units / power === interval && Number.isSafeInteger(units)
  return (value) => {
    const inUnits = Math.round(value * power)
    if (isWhole && inUnits / power === value && Number.isSafeInteger(inUnits)) {
      return Math.floor(inUnits / units)
    }
    const quotient = value / interval
    const distance = Math.abs(quotient - Math.round(quotient))
    const isClear = distance > Math.abs(quotient) * ROUNDING_MAX
    const isCountable = Math.abs(quotient) <= Number.MAX_SAFE_INTEGER
    return isClear || !isCountable ? Math.floor(quotient) : Number(floorOfQuotient(value, interval))
  }
}

export function walkDateHistogram(
  context: AggregationContext,
  { field, interval }: RequestOf<'date-histogram'>,
): BucketWalk<number> {
  const indexField = numberField(context, field, 'date_histogram needs dates')
  return walkMonotone(context, indexField, (value) => intervalStart(interval, value))
}

export function walkRanges(
  context: AggregationContext,
  { field, ranges }: RequestOf<'range'>,
): BucketWalk<string> {
  const indexField = numberField(context, field, 'range needs numbers')
  return walkNamed(context, indexField, ranges)
}

export function walkDateRanges(
  context: AggregationContext,
  { field, ranges }: RequestOf<'date-range'>,
): BucketWalk<string> {
  const indexField = numberField(context, field, 'date_range needs dates')
  const { nowMs } = context.source
  const inMs = ranges.map(({ name, from, to }) => ({
    name,
    from: from && dateBoundMs(from, nowMs),
    to: to && dateBoundMs(to, nowMs),
  }))
  return walkNamed(context, indexField, inMs)
}

function numberField(context: AggregationContext, name: string, needs: string) {
  return context.column(name, needs, ['number'])?.indexField
}

/** A document's values ascend and keys grow with the values, so equal keys are adjacent. */
function walkMonotone(
  context: AggregationContext,
  indexField: string | undefined,
  keyOf: (value: number) => number,
): BucketWalk<number> {
  return walkColumn<number>(context, indexField, ({ values, from, to }, visit) => {
    let last: number | undefined
    for (let i = from; i < to; i += 1) {
      const key = keyOf(values[i] ?? 0)
      if (key !== last) visit(key)
      last = key
    }
  })
}

function walkNamed(
  context: AggregationContext,
  indexField: string | undefined,
  ranges: readonly NamedRange<number>[],
): BucketWalk<string> {
  return walkColumn<string>(context, indexField, ({ values, from, to }, visit) => {
    for (const range of ranges) {
      if (values.subarray(from, to).some((value) => rangeHolds(range, value))) visit(range.name)
    }
  })
}
