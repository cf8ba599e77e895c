// Areas on the globe: a bounding box that holds every candidate, and the exact test.
//
// Longitudes wrap at 180 degrees. A box whose west is greater than its east crosses that line, and
// so does the bounding box of an area that crosses it. Edges of polygons are straight in longitude
// and latitude (as in GeoJSON, RFC 7946 section 3.1.1) and take the shorter way around the globe:
// an edge from 170 to -170 crosses the line and is 20 degrees long. Points on an edge may count as
// inside or outside. A polygon around a pole needs corners at the pole's latitude.

import type { GeoPoint } from './geo-point.ts'
import { boxOf, isInside, unrolled, type Box, type Path } from './plane.ts'

/**
 * A region on the globe. Every point of it lies in `box`; `contains` decides exactly. Both take
 * degrees.
 */
export interface Area {
  readonly box: Box
  contains(lon: number, lat: number): boolean
}

/** The mean radius of the earth (IUGG). */
export const EARTH_RADIUS_METRES = 6_371_008.8
const RADIANS = Math.PI / 180
// Wider than the error of the haversine formula in doubles, and narrower than any real distance.
const BOX_SLACK_DEGREES = 1e-9

export function boxArea(topLeft: GeoPoint, bottomRight: GeoPoint): Area {
  const box = {
    west: topLeft.lon,
    east: bottomRight.lon,
    south: bottomRight.lat,
    north: topLeft.lat,
  }
  const isCrossing = box.west > box.east
  return {
    box,
    contains: (lon, lat) => {
      if (lat < box.south || lat > box.north) return false
      return isCrossing ? lon >= box.west || lon <= box.east : lon >= box.west && lon <= box.east
    },
  }
}

export function circleArea(centre: GeoPoint, metres: number): Area {
  return {
    box: boxAround(centre, metres),
    contains: (lon, lat) => distanceMetres(centre, { lon, lat }) <= metres,
  }
}

/** The distance on a sphere, by the haversine formula. */
export function distanceMetres(from: GeoPoint, to: GeoPoint): number {
  const halfLat = Math.sin(((to.lat - from.lat) * RADIANS) / 2)
  const halfLon = Math.sin(((to.lon - from.lon) * RADIANS) / 2)
  const cosines = Math.cos(from.lat * RADIANS) * Math.cos(to.lat * RADIANS)
  const chord = halfLat * halfLat + cosines * halfLon * halfLon
  return 2 * EARTH_RADIUS_METRES * Math.asin(Math.min(1, Math.sqrt(chord)))
}

function boxAround(centre: GeoPoint, metres: number): Area['box'] {
  const angle = metres / EARTH_RADIUS_METRES
  const latSpan = angle / RADIANS + BOX_SLACK_DEGREES
  const south = Math.max(-90, centre.lat - latSpan)
  const north = Math.min(90, centre.lat + latSpan)
  // A circle that reaches a pole has points at every longitude.
  if (south === -90 || north === 90) return { west: -180, east: 180, south, north }
  // The widest point of a circle lies closer to the pole than its centre.
  const sine = Math.min(1, Math.sin(angle) / Math.cos(centre.lat * RADIANS))
  const lonSpan = Math.asin(sine) / RADIANS + BOX_SLACK_DEGREES
  if (lonSpan >= 180) return { west: -180, east: 180, south, north }
  return { west: wrapped(centre.lon - lonSpan), east: wrapped(centre.lon + lonSpan), south, north }
}

/** The first ring is the outline; the other rings are holes. */
export function polygonArea(rings: readonly Path[]): Area {
  const [outline = [], ...holes] = rings.map(unrolled)
  const { west, east, south, north } = boxOf(outline)
  return {
    box:
      east - west >= 360
        ? { west: -180, east: 180, south, north }
        : { west: wrapped(west), east: wrapped(east), south, north },
    contains: (lon, lat) =>
      lat >= south &&
      lat <= north &&
      isInAnyTurn(outline, lon, lat) &&
      !holes.some((hole) => isInAnyTurn(hole, lon, lat)),
  }
}

/** The ring may have been unrolled into the turn before or after the point's own. */
function isInAnyTurn(ring: Path, lon: number, lat: number): boolean {
  return (
    isInside(ring, lon, lat) || isInside(ring, lon + 360, lat) || isInside(ring, lon - 360, lat)
  )
}

function wrapped(lon: number): number {
  if (lon >= -180 && lon <= 180) return lon
  return lon - 360 * Math.floor((lon + 180) / 360)
}
