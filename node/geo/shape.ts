// Geometries as lists of parts: points, lines and polygons.

import type { GeoPoint } from './geo-point.ts'
import { boxOf, unrolled, type Box, type Path } from './plane.ts'

/** The limit of positions in all parts of one shape, in documents and in queries. */
export const SHAPE_POSITIONS_MAX = 10_000

/** One point, line or polygon, with its bounding box. Paths are unrolled (`unrolled`). */
export interface ShapePart {
  readonly kind: 'point' | 'line' | 'polygon'
  /**
   * One path, and another for each hole of a polygon. The paths of polygons end where they begin.
   */
  readonly paths: readonly Path[]
  readonly box: Box
}

/** Has at least one part. */
export type Shape = readonly ShapePart[]

export function positionsOf(shape: Shape): number {
  return shape.reduce(
    (sum, { paths }) => sum + paths.reduce((all, path) => all + path.length, 0),
    0,
  )
}

export function pointPart(place: GeoPoint): ShapePart {
  return partOf('point', [[place]])
}

export function linePart(path: Path): ShapePart {
  return partOf('line', [unrolled(path)])
}

/** Edges take the shorter way around the globe. The first ring is the outline. */
export function polygonPart(rings: readonly Path[]): ShapePart {
  return partOf('polygon', rings.map(closed).map(unrolled))
}

/** A box whose west is greater than its east crosses the 180th meridian. */
export function boxPart({ west, east, south, north }: Box): ShapePart {
  const end = west > east ? east + 360 : east
  const corners = [
    { lon: west, lat: south },
    { lon: end, lat: south },
    { lon: end, lat: north },
    { lon: west, lat: north },
  ]
  return partOf('polygon', [closed(corners)])
}

export function partOf(kind: ShapePart['kind'], paths: readonly Path[]): ShapePart {
  const [outline = []] = paths
  return { kind, paths, box: boxOf(outline) }
}

function closed(ring: Path): Path {
  const [first] = ring
  const last = ring.at(-1)
  if (first === undefined || (first.lon === last?.lon && first.lat === last.lat)) return ring
  return [...ring, first]
}
