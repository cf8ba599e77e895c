// Resolves geographic queries on a field of points or of shapes.

import { geoTestOf, type GeoQuery } from '../../../query/geo-test.ts'
import { NOTHING, refusal } from './query-context.ts'
import { shapeMatcher } from './shape-term.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { QueryContext } from './query-context.ts'

export function resolveGeo(query: GeoQuery, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  const test = geoTestOf(query)
  const { box } = test
  const about = { field: field.indexField, boost: query.boost }
  if (field.kind === 'point') {
    return { kind: 'area', ...about, box, contains: (lon, lat) => test.point({ lon, lat }) }
  }
  if (field.kind === 'shape') {
    const matcher = shapeMatcher(box, (shape) => test.shape(shape))
    return { kind: 'expand', ...about, matcher }
  }
  const problem = `is of type ${field.kind}, and a geo query needs type geopoint or geoshape`
  throw refusal(query.field, problem)
}
