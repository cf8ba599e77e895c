// Buckets of points: cells of a geohash grid, and rings around an origin.

import type { BucketAggregation } from '../../../query/aggregation-request.ts'
import { distanceMetres } from '../mapping/geo-area.ts'
import type { AggregationContext, BucketWalk } from './aggregation-context.ts'
import { walkValues } from './doc-set.ts'
import { rangeHolds } from './number-buckets.ts'

// Base 32 as geohashes have it, without a, i, l and o.
const GEOHASH_DIGITS = '0123456789bcdefghjkmnpqrstuvwxyz'

type RequestOf<Kind extends BucketAggregation['kind']> = Extract<
  BucketAggregation,
  { readonly kind: Kind }
>

export function walkGeohashes(
  context: AggregationContext,
  { field, precision }: RequestOf<'geohash-grid'>,
): BucketWalk<string> {
  return walkPoints(context, field, (lon, lat) => [geohashOf(lon, lat, precision)])
}

export function walkDistances(
  context: AggregationContext,
  { field, origin, ranges }: RequestOf<'geo-distance'>,
): BucketWalk<string> {
  return walkPoints(context, field, (lon, lat) => {
    const metres = distanceMetres(origin, { lon, lat })
    return ranges.filter((range) => rangeHolds(range, metres)).map(({ name }) => name)
  })
}

function walkPoints(
  context: AggregationContext,
  field: string,
  keysOf: (lon: number, lat: number) => readonly string[],
): BucketWalk<string> {
  const indexField = context.column(field, 'the aggregation needs points', ['point'])?.indexField
  return ({ segment, docs }, visit) => {
    const column = indexField === undefined ? undefined : segment.field(indexField)?.column
    if (column === undefined) return
    walkValues(docs, column, {
      poll: context.poll,
      visit: (doc, values, from, to) => {
        const seen = new Set<string>()
        for (let i = from; i + 1 < to; i += 2) {
          for (const key of keysOf(values[i] ?? 0, values[i + 1] ?? 0)) seen.add(key)
        }
        for (const key of seen) visit(key, doc)
      },
    })
  }
}

/** Bits halve the longitudes and the latitudes in turn; five of them are a character. */
export function geohashOf(lon: number, lat: number, length: number): string {
  const axes: { readonly value: number; low: number; high: number }[] = [
    { value: lon, low: -180, high: 180 },
    { value: lat, low: -90, high: 90 },
  ]
  let text = ''
  let digit = 0
  for (let bit = 0; bit < length * 5; bit += 1) {
    const axis = axes[bit % 2]
    if (axis === undefined) break
    const middle = (axis.low + axis.high) / 2
    const isUpper = axis.value >= middle
    if (isUpper) axis.low = middle
    else axis.high = middle
    digit = digit * 2 + (isUpper ? 1 : 0)
    if (bit % 5 !== 4) continue
    text += GEOHASH_DIGITS[digit] ?? ''
    digit = 0
  }
  return text
}
