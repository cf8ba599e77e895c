// Reads the shapes of documents: GeoJSON geometries (RFC 7946), and points in all their notations.

import { numberOf } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from '../document/json-object.ts'
import type { GeoPoint } from './geo-point.ts'
import { parseGeoPoint } from './parse-geo-point.ts'
import {
  linePart,
  pointPart,
  polygonPart,
  SHAPE_POSITIONS_MAX,
  type ShapePart,
  type Shape,
} from './shape.ts'
import type { JsonObject, JsonValue } from '../document/exact-json.ts'

const LINE_POSITIONS_MIN = 2
const RING_POSITIONS_MIN = 3

interface PositionBudget {
  positionsLeft: number
}

/** The reason is not reported. A value that is not a shape is left out of the index. */
class NotAShape extends Error {}

/**
 * The shapes of a field's value: one, or several if the value is an array of shapes. An element is
 * undefined where `parseShape` answers undefined.
 */
export function parseShapes(value: JsonValue): readonly (Shape | undefined)[] {
  if (!isJsonArray(value)) return [parseShape(value)]
  const isOnePoint = value.length > 0 && value.every((part) => numberOf(part) !== undefined)
  return isOnePoint ? [parseShape(value)] : value.flatMap(parseShapes)
}

/** Undefined if the value is not a shape, lies off the globe or has too many positions. */
export function parseShape(value: JsonValue): Shape | undefined {
  try {
    return isJsonObject(value) && Object.hasOwn(value, 'type')
      ? shapeOf(value, { positionsLeft: SHAPE_POSITIONS_MAX })
      : [pointPart(parseGeoPoint(value) ?? fail())]
  } catch (error) {
    if (error instanceof NotAShape) return undefined
    throw error
  }
}

function shapeOf(geometry: JsonObject, budget: PositionBudget): Shape {
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

type Reader<Value> = (coordinates: JsonValue | undefined, budget: PositionBudget) => Value

const READERS: Readonly<Record<string, Reader<Shape>>> = {
  Point: one(pointIn),
  MultiPoint: several(pointIn),
  LineString: one(lineIn),
  MultiLineString: several(lineIn),
  Polygon: one(polygonIn),
  MultiPolygon: several(polygonIn),
}

function one(read: Reader<ShapePart>): Reader<Shape> {
  return (coordinates, budget) => [read(coordinates, budget)]
}

function several(read: Reader<ShapePart>): Reader<Shape> {
  return (coordinates, budget) => listIn(coordinates).map((part) => read(part, budget))
}

function pointIn(coordinates: JsonValue | undefined, budget: PositionBudget): ShapePart {
  return pointPart(positionIn(coordinates, budget))
}

function lineIn(coordinates: JsonValue | undefined, budget: PositionBudget): ShapePart {
  return linePart(pathIn(coordinates, LINE_POSITIONS_MIN, budget))
}

function polygonIn(coordinates: JsonValue | undefined, budget: PositionBudget): ShapePart {
  return polygonPart(listIn(coordinates).map((ring) => pathIn(ring, RING_POSITIONS_MIN, budget)))
}

function pathIn(
  value: JsonValue | undefined,
  positionsMin: number,
  budget: PositionBudget,
): readonly GeoPoint[] {
  const positions = listIn(value)
  return positions.length < positionsMin
    ? fail()
    : positions.map((position) => positionIn(position, budget))
}

function positionIn(value: JsonValue | undefined, budget: PositionBudget): GeoPoint {
  budget.positionsLeft -= 1
  const point = isJsonArray(value) ? parseGeoPoint(value) : undefined
  return budget.positionsLeft < 0 || point === undefined ? fail() : point
}

function listIn(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) && value.length > 0 ? value : fail()
}

function fail(): never {
  throw new NotAShape()
}
