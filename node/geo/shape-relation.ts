// Decides whether shapes meet, and whether one covers the other. A border belongs to its shape.
//
// A part counts as covered if one part of the other shape covers it alone. Two polygons side by
// side do not together cover a part that lies across their common border.

import { unreachable } from '../../lib/assert.ts'
import type { GeoPoint } from './geo-point.ts'
import {
  boxesMeet,
  edgesOf,
  isInside,
  isOnEdge,
  meetings,
  meetsBox,
  pointAt,
  shifted,
  type Edge,
  type Path,
} from './plane.ts'
import type { ShapePart, Shape } from './shape.ts'

export type Relation = 'intersects' | 'contains' | 'within'

/** Paths continue across the 180th meridian, so the same place may lie whole turns apart. */
const TURNS = [0, -360, 360, -720, 720]
const DIMENSIONS: Readonly<Record<ShapePart['kind'], number>> = { point: 0, line: 1, polygon: 2 }

interface Figure extends ShapePart {
  readonly edges: readonly Edge[]
}

type Test = (document: Figure, query: Figure) => boolean

/** Builds the test of a document's shape against the shape of a query. */
export function relationTest(relation: Relation, query: Shape): (document: Shape) => boolean {
  const parts = query.map((part) => TURNS.map((degrees) => figureOf(part, degrees)))
  return (shape) => {
    const document = shape.map((part) => figureOf(part, 0))
    switch (relation) {
      case 'intersects':
        return document.some((one) => parts.some((turns) => someTurn(one, turns, meet)))
      case 'contains':
        return parts.every((turns) => document.some((one) => someTurn(one, turns, covers)))
      case 'within':
        return document.every((one) => parts.some((turns) => someTurn(one, turns, isCovered)))
      default:
        return unreachable(relation)
    }
  }
}

function someTurn(document: Figure, turns: readonly Figure[], test: Test): boolean {
  return turns.some((turn) => boxesMeet(document.box, turn.box) && test(document, turn))
}

function figureOf(part: ShapePart, degrees: number): Figure {
  const { west, east, ...box } = part.box
  const paths = part.paths.map((path) => shifted(path, degrees))
  return {
    kind: part.kind,
    paths,
    box: { ...box, west: west + degrees, east: east + degrees },
    edges: paths.flatMap(edgesOf),
  }
}

function meet(a: Figure, b: Figure): boolean {
  const others = edgesNear(b, a)
  const isTouching = edgesNear(a, b).some((edge) =>
    others.some((other) => meetings(edge, other).length > 0),
  )
  // If no borders meet, all of one part lies on the same side of the other.
  return isTouching || holdsFirst(a, b) || holdsFirst(b, a)
}

function holdsFirst(polygon: Figure, { paths }: Figure): boolean {
  const place = paths[0]?.[0]
  return place !== undefined && polygon.kind === 'polygon' && isInPolygon(polygon.paths, place)
}

function isCovered(inner: Figure, outer: Figure): boolean {
  return covers(outer, inner)
}

function covers(outer: Figure, inner: Figure): boolean {
  if (DIMENSIONS[outer.kind] < DIMENSIONS[inner.kind]) return false
  const borders = edgesNear(outer, inner)
  if (!inner.edges.every((edge) => coversEdge(outer, borders, edge))) return false
  return inner.kind !== 'polygon' || !outer.paths.slice(1).some((hole) => fills(inner, hole))
}

/**
 * Splits the edge where it meets borders. Each piece between two neighbours is inside or outside as
 * a whole.
 */
function coversEdge(outer: Figure, borders: readonly Edge[], edge: Edge): boolean {
  const met = borders.flatMap((border) => meetings(edge, border))
  const stops = [0, ...met, 1].toSorted((a, b) => a - b)
  const middles = stops.slice(1).map((stop, i) => ((stops[i] ?? stop) + stop) / 2)
  return [0, ...middles, 1].every((position) => {
    const place = pointAt(edge, position)
    const isOnBorder = borders.some((border) => isOnEdge(border, place))
    return isOnBorder || (outer.kind === 'polygon' && isInPolygon(outer.paths, place))
  })
}

/**
 * No edge of the polygon crosses the hole, so the polygon holds all of the hole or nothing of it.
 */
function fills({ paths }: Figure, hole: Path): boolean {
  const place = placeInside(hole)
  return place !== undefined && isInPolygon(paths, place)
}

function isInPolygon([outline = [], ...holes]: readonly Path[], { lon, lat }: GeoPoint): boolean {
  return isInside(outline, lon, lat) && !holes.some((hole) => isInside(hole, lon, lat))
}

/**
 * A place inside the ring: half way between the first two crossings of a line between the ring's
 * two lowest latitudes.
 */
function placeInside(ring: Path): GeoPoint | undefined {
  const [low, high] = [...new Set(ring.map(({ lat }) => lat))].toSorted((a, b) => a - b)
  if (low === undefined || high === undefined) return undefined
  const lat = (low + high) / 2
  const [west, east] = edgesOf(ring)
    .filter(({ from, to }) => from.lat > lat !== to.lat > lat)
    .map(
      ({ from, to }) => from.lon + ((lat - from.lat) / (to.lat - from.lat)) * (to.lon - from.lon),
    )
    .toSorted((a, b) => a - b)
  return west === undefined || east === undefined ? undefined : { lon: (west + east) / 2, lat }
}

/** The edges that can meet the other part. */
function edgesNear({ edges }: Figure, { box }: Figure): readonly Edge[] {
  return edges.filter((edge) => meetsBox(edge, box))
}
