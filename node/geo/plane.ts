// The plane of longitudes and latitudes in degrees, in which edges are straight (RFC 7946 section
// 3.1.1). Longitudes may exceed 180 where a path crosses that line.

import type { GeoPoint } from './geo-point.ts'

/** Two places closer than this count as one. It is about 0.1 mm, above the error of doubles. */
export const TOLERANCE_DEGREES = 1e-9

export type Path = readonly GeoPoint[]

/**
 * A box in degrees. Where a box may cross the 180th meridian, its west is greater than its east.
 */
export interface Box {
  readonly west: number
  readonly east: number
  readonly south: number
  readonly north: number
}

/** A straight edge in the plane. Both ends may be the same place. */
export interface Edge {
  readonly from: GeoPoint
  readonly to: GeoPoint
}

/** The edges of a path. A path of one place has one edge, from the place to itself. */
export function edgesOf(path: Path): readonly Edge[] {
  const [first, ...rest] = path
  if (first === undefined) return []
  if (rest.length === 0) return [{ from: first, to: first }]
  return rest.map((to, i) => ({ from: path[i] ?? first, to }))
}

/** The same path with longitudes that never jump by more than half a turn. */
export function unrolled(path: Path): Path {
  let last: number | undefined
  return path.map(({ lon, lat }) => {
    const turns = last === undefined ? 0 : Math.round((last - lon) / 360)
    last = lon + turns * 360
    return { lon: last, lat }
  })
}

export function shifted(path: Path, degrees: number): Path {
  return degrees === 0 ? path : path.map(({ lon, lat }) => ({ lon: lon + degrees, lat }))
}

export function boxOf(path: Path): Box {
  const box = { west: Infinity, east: -Infinity, south: Infinity, north: -Infinity }
  for (const { lon, lat } of path) {
    box.west = Math.min(box.west, lon)
    box.east = Math.max(box.east, lon)
    box.south = Math.min(box.south, lat)
    box.north = Math.max(box.north, lat)
  }
  return box
}

export function boxesMeet(a: Box, b: Box): boolean {
  const slack = TOLERANCE_DEGREES
  return (
    a.west <= b.east + slack &&
    b.west <= a.east + slack &&
    a.south <= b.north + slack &&
    b.south <= a.north + slack
  )
}

export function meetsBox({ from, to }: Edge, box: Box): boolean {
  const slack = TOLERANCE_DEGREES
  return (
    Math.min(from.lon, to.lon) <= box.east + slack &&
    Math.max(from.lon, to.lon) >= box.west - slack &&
    Math.min(from.lat, to.lat) <= box.north + slack &&
    Math.max(from.lat, to.lat) >= box.south - slack
  )
}

/**
 * Whether the place is inside a closed path, by the even-odd rule: counts the edges that a ray to
 * the east crosses.
 */
export function isInside(ring: Path, lon: number, lat: number): boolean {
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

export function isOnEdge({ from, to }: Edge, place: GeoPoint): boolean {
  const at = pointAt({ from, to }, positionOn({ from, to }, place))
  return Math.hypot(place.lon - at.lon, place.lat - at.lat) <= TOLERANCE_DEGREES
}

/** The position on the edge, from 0 to 1, that lies closest to the place. */
export function positionOn({ from, to }: Edge, place: GeoPoint): number {
  const [lon, lat] = [to.lon - from.lon, to.lat - from.lat]
  const length = lon * lon + lat * lat
  if (length === 0) return 0
  const along = (place.lon - from.lon) * lon + (place.lat - from.lat) * lat
  return Math.min(1, Math.max(0, along / length))
}

export function pointAt({ from, to }: Edge, position: number): GeoPoint {
  return {
    lon: from.lon + (to.lon - from.lon) * position,
    lat: from.lat + (to.lat - from.lat) * position,
  }
}

/**
 * The positions on `edge`, from 0 to 1, where another edge meets it: none, one, or the two ends of
 * a common stretch.
 */
export function meetings(edge: Edge, other: Edge): readonly number[] {
  if (!meetsBox(edge, boxOf([other.from, other.to]))) return []
  const touching = [other.from, other.to]
    .filter((place) => isOnEdge(edge, place))
    .map((place) => positionOn(edge, place))
  if (isOnEdge(other, edge.from)) touching.push(0)
  if (isOnEdge(other, edge.to)) touching.push(1)
  if (touching.length > 0) return touching
  const crossing = crossingOf(edge, other)
  return crossing === undefined ? [] : [crossing]
}

/** The crossing of two edges, if they cross between their ends. */
function crossingOf(edge: Edge, other: Edge): number | undefined {
  const a = sideOf(other, edge.from)
  const b = sideOf(other, edge.to)
  const isApart = a > 0 === b > 0 || sideOf(edge, other.from) > 0 === sideOf(edge, other.to) > 0
  return isApart || a === b ? undefined : a / (a - b)
}

/** Positive if the place is to the left of the edge. */
function sideOf({ from, to }: Edge, place: GeoPoint): number {
  return (to.lon - from.lon) * (place.lat - from.lat) - (to.lat - from.lat) * (place.lon - from.lon)
}
