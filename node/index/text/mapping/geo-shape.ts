// GeoJSON geometries (RFC 7946) as areas. Documents hold points, so that lines have nothing inside.

import { circleArea, polygonArea, unionArea } from './geo-area.ts'
import type { Area, Ring } from './geo-area.ts'
import type { GeoPoint } from '../../../query/query-tree.ts'

const PARTS_MAX = 1000

export type ShapeArea =
  | { readonly kind: 'area'; readonly area: Area }
  | { readonly kind: 'points'; readonly points: readonly GeoPoint[] }

/** Undefined for anything but Point, MultiPoint, Polygon, MultiPolygon and `envelope`. */
export function shapeOf(geometry: unknown): ShapeArea | undefined {
  if (typeof geometry !== 'object' || geometry === null) return undefined
  const type: unknown = Reflect.get(geometry, 'type')
  const coordinates: unknown = Reflect.get(geometry, 'coordinates')
  if (!Array.isArray(coordinates) || coordinates.length > PARTS_MAX) return undefined
  switch (typeof type === 'string' ? type.toLowerCase() : '') {
    case 'point':
      return pointsOf([coordinates])
    case 'multipoint':
      return pointsOf(coordinates)
    case 'polygon':
      return areaOf([coordinates])
    case 'multipolygon':
      return areaOf(coordinates)
    case 'envelope':
      return envelopeOf(coordinates)
    default:
      return undefined
  }
}

/** An area as small as a point, for queries that ask for exactly these. */
export function pointsArea(points: readonly GeoPoint[]): Area | undefined {
  return unionArea(points.map((point) => circleArea(point, 0)))
}

function pointsOf(positions: readonly unknown[]): ShapeArea | undefined {
  const points = ringOf(positions)
  return points === undefined ? undefined : { kind: 'points', points }
}

function areaOf(polygons: readonly unknown[]): ShapeArea | undefined {
  const areas = polygons.map((polygon) => {
    const rings = Array.isArray(polygon) ? polygon.map(ringOf) : [undefined]
    const known = rings.filter((ring) => ring !== undefined)
    return known.length === rings.length ? polygonArea(known) : undefined
  })
  const known = areas.filter((area) => area !== undefined)
  const area = known.length === areas.length ? unionArea(known) : undefined
  return area === undefined ? undefined : { kind: 'area', area }
}

/** The upper left and the lower right corner, as other search engines have it. */
function envelopeOf(coordinates: readonly unknown[]): ShapeArea | undefined {
  const [topLeft, bottomRight] = ringOf(coordinates) ?? []
  if (topLeft === undefined || bottomRight === undefined) return undefined
  const corners = [
    topLeft,
    { lon: bottomRight.lon, lat: topLeft.lat },
    bottomRight,
    { lon: topLeft.lon, lat: bottomRight.lat },
  ]
  const area = polygonArea([corners])
  return area === undefined ? undefined : { kind: 'area', area }
}

function ringOf(positions: unknown): Ring | undefined {
  if (!Array.isArray(positions)) return undefined
  const points = positions.map((position: unknown) => {
    const [lon, lat]: readonly unknown[] = Array.isArray(position) ? position : []
    if (typeof lon !== 'number' || typeof lat !== 'number') return undefined
    return Math.abs(lon) <= 180 && Math.abs(lat) <= 90 ? { lon, lat } : undefined
  })
  const known = points.filter((point) => point !== undefined)
  return known.length === points.length ? known : undefined
}
