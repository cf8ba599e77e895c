// Decides whether a shape comes within a distance of a place, on the sphere.
//
// An edge is straight in longitude and latitude, so it is not the shortest way on the sphere. The
// test halves an edge until its middle is close enough, the whole piece is too far away, or the
// piece is short.

import { distanceMetres, EARTH_RADIUS_METRES } from './geo-area.ts'
import type { GeoPoint } from './geo-point.ts'
import { edgesOf, isInside, pointAt, type Edge } from './plane.ts'
import type { ShapePart, Shape } from './shape.ts'

const PIECE_DEGREES = 1
/** Each step keeps two thirds of the piece, so 4e-9 of it is left at the end. */
const STEPS = 48
const METRES_PER_DEGREE = (EARTH_RADIUS_METRES * Math.PI) / 180
const TURNS = [0, -360, 360]

export function isWithinMetres(shape: Shape, centre: GeoPoint, metres: number): boolean {
  return shape.some(
    (part) =>
      holds(part, centre) ||
      part.paths.some((path) => edgesOf(path).some((edge) => comesNear(edge, { centre, metres }))),
  )
}

function holds({ kind, paths }: ShapePart, { lon, lat }: GeoPoint): boolean {
  if (kind !== 'polygon') return false
  const [outline = [], ...rings] = paths
  return TURNS.some(
    (turn) =>
      isInside(outline, lon + turn, lat) && !rings.some((ring) => isInside(ring, lon + turn, lat)),
  )
}

interface Circle {
  readonly centre: GeoPoint
  readonly metres: number
}

function comesNear(edge: Edge, circle: Circle): boolean {
  const { centre, metres } = circle
  const { from, to } = edge
  const length = Math.hypot(to.lon - from.lon, to.lat - from.lat)
  const middle = pointAt(edge, 0.5)
  const away = distanceMetres(centre, middle)
  if (away <= metres) return true
  // No degree of longitude is longer than a degree of latitude.
  if (away - (length / 2) * METRES_PER_DEGREE > metres) return false
  if (length <= PIECE_DEGREES) return leastMetres(edge, centre) <= metres
  return comesNear({ from, to: middle }, circle) || comesNear({ from: middle, to }, circle)
}

/** A ternary search: along a short piece the distance falls, and then it rises. */
function leastMetres(edge: Edge, centre: GeoPoint): number {
  let low = 0
  let high = 1
  let least = Infinity
  for (let step = 0; step < STEPS; step += 1) {
    const left = low + (high - low) / 3
    const right = high - (high - low) / 3
    const toLeft = distanceMetres(centre, pointAt(edge, left))
    const toRight = distanceMetres(centre, pointAt(edge, right))
    least = Math.min(least, toLeft, toRight)
    if (toLeft < toRight) high = right
    else low = left
  }
  return least
}
