// Geographic queries: all become an area over a field of points.

import { unreachable } from '../../../../lib/assert.ts'
import { boxArea, circleArea, polygonArea } from './geo-area.ts'
import { pointsArea, shapeOf } from './geo-shape.ts'
import { NOTHING, refusal } from './query-context.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { Area } from './geo-area.ts'
import type { QueryContext, QueryOf } from './query-context.ts'

export type GeoQuery = QueryOf<'geo-box' | 'geo-distance' | 'geo-polygon' | 'geo-shape'>

export function resolveGeo(query: GeoQuery, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  if (field.kind !== 'point') {
    throw refusal(query.field, `is of type ${field.kind}, and a geo query needs type geopoint`)
  }
  const area = areaOf(query, context)
  if (area === undefined) return NOTHING
  const { box } = area
  return {
    kind: 'area',
    field: field.indexField,
    box,
    contains: (lon, lat) => area.contains(lon, lat),
    boost: query.boost,
  }
}

function areaOf(query: GeoQuery, context: QueryContext): Area | undefined {
  switch (query.kind) {
    case 'geo-box':
      return boxOf(query)
    case 'geo-distance':
      return circleOf(query)
    case 'geo-polygon':
      return polygonOf(query)
    case 'geo-shape':
      return shapeAreaOf(query, context)
    default:
      return unreachable(query)
  }
}

function boxOf({ field, topLeft, bottomRight }: QueryOf<'geo-box'>): Area {
  if (!(topLeft.lat >= bottomRight.lat)) {
    throw refusal(field, 'cannot be in a box whose top lies below its bottom')
  }
  return boxArea(topLeft, bottomRight)
}

function circleOf({ field, centre, metres }: QueryOf<'geo-distance'>): Area {
  if (!(metres >= 0)) throw refusal(field, `cannot be within ${metres} metres`)
  return circleArea(centre, metres)
}

function polygonOf({ field, points }: QueryOf<'geo-polygon'>): Area {
  const area = polygonArea([points])
  if (area === undefined) throw refusal(field, 'cannot be in a polygon of fewer than three points')
  return area
}

/** Documents hold points: one intersects what it is within, and contains only itself. */
function shapeAreaOf(query: QueryOf<'geo-shape'>, context: QueryContext): Area | undefined {
  const shape = shapeOf(query.geometry)
  if (shape === undefined) {
    throw refusal(
      query.field,
      'needs a shape of type Point, MultiPoint, Polygon, MultiPolygon or envelope, with its ' +
        'coordinates on the globe',
    )
  }
  if (shape.kind === 'points') {
    const isOne = query.relation !== 'contains' || shape.points.length === 1
    return isOne ? pointsArea(shape.points) : undefined
  }
  if (query.relation !== 'contains') return shape.area
  context.warn('a document holds points, and no point contains an area')
  return undefined
}
