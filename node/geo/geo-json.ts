// The shapes that documents hold: GeoJSON geometries (RFC 7946), and points in all their forms.

import { numberOf } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from '../document/json-object.ts'
import type { GeoPoint } from './geo-point.ts'
import { parseGeoPoint } from './parse-geo-point.ts'
import {
  linePart,
  pointPart,
  polygonPart,
  SHAPE_POSITIONS_MAX,
  type Part,
  type Shape,
} from './shape.ts'
import type { JsonObject, JsonValue } from '../document/exact-json.ts'

const LINE_POSITIONS_MIN = 2
const RING_POSITIONS_MIN = 3

interface Budget {
  positionsLeft: number
}

/** What went wrong is of no interest: the value is no shape, and the document is indexed without. */
class NoShape extends Error {}

/** The shapes of a field's value: one, or several if it is an array of them. */
export function parseShapes(value: JsonValue): readonly (Shape | undefined)[] {
  if (!isJsonArray(value)) return [parseShape(value)]
  const isOnePoint = value.length > 0 && value.every((part) => numberOf(part) !== undefined)
  return isOnePoint ? [parseShape(value)] : value.flatMap(parseShapes)
}

/** Undefined if the value is no shape, off the globe, or has too many positions. */
export function parseShape(value: JsonValue): Shape | undefined {
  try {
    return isJsonObject(value) && Object.hasOwn(value, 'type')
      ? shapeOf(value, { positionsLeft: SHAPE_POSITIONS_MAX })
      : [pointPart(parseGeoPoint(value) ?? fail())]
  } catch (error) {
    if (error instanceof NoShape) return undefined
    throw error
  }
}

function shapeOf(geometry: JsonObject, budget: Budget): Shape {
  const type = memberOf(geometry, 'type')
  if (type === 'GeometryCollection') {
    return listIn(memberOf(geometry, 'geometries')).flatMap((part) =>
      isJsonObject(part) ? shapeOf(part, budget) : fail(),
    )
  }
  const read = typeof type === 'string' && Object.hasOwn(READERS, type) ? READERS[type] : undefined
  const coordinates = memberOf(geometry, 'coordinates')
  return read === undefined ? fail() : read(coordinates, budget)
}

type Reader<Value> = (coordinates: JsonValue | undefined, budget: Budget) => Value

const READERS: Readonly<Record<string, Reader<Shape>>> = {
  Point: one(pointIn),
  MultiPoint: several(pointIn),
  LineString: one(lineIn),
  MultiLineString: several(lineIn),
  Polygon: one(polygonIn),
  MultiPolygon: several(polygonIn),
}

function one(read: Reader<Part>): Reader<Shape> {
  return (coordinates, budget) => [read(coordinates, budget)]
}

function several(read: Reader<Part>): Reader<Shape> {
  return (coordinates, budget) => listIn(coordinates).map((part) => read(part, budget))
}

function pointIn(coordinates: JsonValue | undefined, budget: Budget): Part {
  return pointPart(positionIn(coordinates, budget))
}

function lineIn(coordinates: JsonValue | undefined, budget: Budget): Part {
  return linePart(pathIn(coordinates, LINE_POSITIONS_MIN, budget))
}

function polygonIn(coordinates: JsonValue | undefined, budget: Budget): Part {
  return polygonPart(listIn(coordinates).map((ring) => pathIn(ring, RING_POSITIONS_MIN, budget)))
}

function pathIn(
  value: JsonValue | undefined,
  positionsMin: number,
  budget: Budget,
): readonly GeoPoint[] {
  const positions = listIn(value)
  return positions.length < positionsMin
    ? fail()
    : positions.map((position) => positionIn(position, budget))
}

function positionIn(value: JsonValue | undefined, budget: Budget): GeoPoint {
  budget.positionsLeft -= 1
  const point = isJsonArray(value) ? parseGeoPoint(value) : undefined
  return budget.positionsLeft < 0 || point === undefined ? fail() : point
}

function listIn(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) && value.length > 0 ? value : fail()
}

function fail(): never {
  throw new NoShape()
}
