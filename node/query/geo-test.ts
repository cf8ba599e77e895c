// The test of a geographic query on one point or shape. Indexes and documents share it.

import { unreachable } from '../../lib/assert.ts'
import { boxArea, circleArea, distanceMetres, polygonArea } from '../geo/geo-area.ts'
import { boxPart, pointPart, polygonPart, type Shape } from '../geo/shape.ts'
import { isWithinMetres } from '../geo/shape-distance.ts'
import { relationTest } from '../geo/shape-relation.ts'
import { TOLERANCE_DEGREES, type Box } from '../geo/plane.ts'
import type { GeoPoint } from '../geo/geo-point.ts'
import type { Query } from './query-tree.ts'

export type GeoQuery = Extract<
  Query,
  { readonly kind: 'geo-box' | 'geo-distance' | 'geo-polygon' | 'geo-shape' }
>

/** Decides whether a place passes a geographic query. */
export interface GeoTest {
  /**
   * Contains every place that passes. It crosses the 180th meridian if its west is greater than its
   * east.
   */
  readonly box: Box
  point(place: GeoPoint): boolean
  shape(shape: Shape): boolean
}

export function geoTestOf(query: GeoQuery): GeoTest {
  switch (query.kind) {
    case 'geo-box': {
      const area = boxArea(query.topLeft, query.bottomRight)
      return {
        box: area.box,
        point: ({ lon, lat }) => area.contains(lon, lat),
        shape: relationTest('intersects', [boxPart(area.box)]),
      }
    }
    case 'geo-distance': {
      const { centre, metres } = query
      return {
        box: circleArea(centre, metres).box,
        point: (place) => distanceMetres(centre, place) <= metres,
        shape: (shape) => isWithinMetres(shape, centre, metres),
      }
    }
    case 'geo-polygon': {
      const area = polygonArea([query.points])
      return {
        box: area.box,
        point: ({ lon, lat }) => area.contains(lon, lat),
        shape: relationTest('intersects', [polygonPart([query.points])]),
      }
    }
    case 'geo-shape': {
      const test = relationTest(query.relation, query.shape)
      return {
        box: boxAround(query.shape),
        point: (place) => test([pointPart(place)]),
        shape: test,
      }
    }
    default:
      return unreachable(query)
  }
}

/** Covers every longitude if a part crosses the 180th meridian. */
function boxAround(shape: Shape): Box {
  const sides = (side: keyof Box): readonly number[] => shape.map(({ box }) => box[side])
  const [west, east] = [Math.min(...sides('west')), Math.max(...sides('east'))]
  const isCrossing = west < -180 || east > 180
  return {
    west: isCrossing ? -180 : west - TOLERANCE_DEGREES,
    east: isCrossing ? 180 : east + TOLERANCE_DEGREES,
    south: Math.min(...sides('south')) - TOLERANCE_DEGREES,
    north: Math.max(...sides('north')) + TOLERANCE_DEGREES,
  }
}
