// Buckets of points: the cells of a geohash grid, and the rings around an origin.

import type { BucketAggregation } from '../../../query/aggregation-request.ts'
import { distanceMetres } from '../../../geo/geo-area.ts'
import { geohashOf } from '../../../geo/geohash.ts'
import type { AggregationContext, BucketWalk } from './aggregation-context.ts'
import { rangeHolds, walkColumn } from './column-walk.ts'

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
  return walkColumn<string>(context, indexField, ({ values, from, to }, visit) => {
    const seen = new Set<string>()
    for (let i = from; i + 1 < to; i += 2) {
      for (const key of keysOf(values[i] ?? 0, values[i + 1] ?? 0)) seen.add(key)
    }
    for (const key of seen) visit(key)
  })
}
