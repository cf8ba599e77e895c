// Areas on the globe: a box that holds every candidate, and the exact test.
//
// Longitudes wrap at 180 degrees. A box whose west is greater than its east crosses that line, and so
// does the bounding box of an area that does. Edges of polygons are straight in longitude and
// latitude (as in GeoJSON, RFC 7946 section 3.1.1) and take the shorter way around the globe: an edge
// from 170 to -170 crosses the line and is 20 degrees long. Points on an edge may count as inside
// or outside. A polygon around a pole has to be given with the pole's latitude as corners.

import type { GeoPoint } from '../../../query/query-tree.ts'

export interface Area {
  readonly box: {
    readonly west: number
    readonly east: number
    readonly south: number
    readonly north: number
  }
  contains(lon: number, lat: number): boolean
}

/** The mean radius of the earth (IUGG). */
export const EARTH_RADIUS_METRES = 6_371_008.8
const RADIANS = Math.PI / 180
// Wider than the error of the haversine formula in doubles, narrower than any real distance.
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

/** By the haversine formula, on a sphere. */
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
  // A circle that reaches a pole has every longitude in it.
  if (south === -90 || north === 90) return { west: -180, east: 180, south, north }
  // The widest point of a circle lies nearer to the pole than its centre.
  const sine = Math.min(1, Math.sin(angle) / Math.cos(centre.lat * RADIANS))
  const lonSpan = Math.asin(sine) / RADIANS + BOX_SLACK_DEGREES
  if (lonSpan >= 180) return { west: -180, east: 180, south, north }
  return { west: wrapped(centre.lon - lonSpan), east: wrapped(centre.lon + lonSpan), south, north }
}

export type Ring = readonly GeoPoint[]

/** The first ring is the outline, the others are holes. Undefined without three corners. */
export function polygonArea(rings: readonly Ring[]): Area | undefined {
  const [outline, ...holes] = rings.map(unrolled)
  if (outline === undefined || outline.length < 3) return undefined
  const lons = outline.map(({ lon }) => lon)
  const lats = outline.map(({ lat }) => lat)
  const west = Math.min(...lons)
  const east = Math.max(...lons)
  const south = Math.min(...lats)
  const north = Math.max(...lats)
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

/** What one of the areas holds. Undefined if there is none. */
export function unionArea(areas: readonly Area[]): Area | undefined {
  const [first] = areas
  if (first === undefined || areas.length === 1) return first
  const isCrossing = areas.some(({ box }) => box.west > box.east)
  return {
    box: {
      west: isCrossing ? -180 : Math.min(...areas.map(({ box }) => box.west)),
      east: isCrossing ? 180 : Math.max(...areas.map(({ box }) => box.east)),
      south: Math.min(...areas.map(({ box }) => box.south)),
      north: Math.max(...areas.map(({ box }) => box.north)),
    },
    contains: (lon, lat) => areas.some((area) => area.contains(lon, lat)),
  }
}

/** The ring with longitudes that never jump by more than half a turn. */
function unrolled(ring: Ring): Ring {
  let last: number | undefined
  return ring.map(({ lon, lat }) => {
    const turns = last === undefined ? 0 : Math.round((last - lon) / 360)
    last = lon + turns * 360
    return { lon: last, lat }
  })
}

/** The ring may have been unrolled to either side of the point's own turn. */
function isInAnyTurn(ring: Ring, lon: number, lat: number): boolean {
  return (
    isInside(ring, lon, lat) || isInside(ring, lon + 360, lat) || isInside(ring, lon - 360, lat)
  )
}

/** By the even-odd rule: how many edges a ray to the east crosses. */
function isInside(ring: Ring, lon: number, lat: number): boolean {
  let isIn = false
  let from = ring.at(-1)
  for (const to of ring) {
    if (from !== undefined && from.lat > lat !== to.lat > lat) {
      const crossing = from.lon + ((lat - from.lat) / (to.lat - from.lat)) * (to.lon - from.lon)
      if (lon < crossing) isIn = !isIn
    }
    from = to
  }
  return isIn
}

function wrapped(lon: number): number {
  if (lon >= -180 && lon <= 180) return lon
  return lon - 360 * Math.floor((lon + 180) / 360)
}
