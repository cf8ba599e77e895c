// Checks GeoJSON geometries (RFC 7946, section 3.1) in queries.

import { must } from '../../lib/assert.ts'
import { isJsonArray, isJsonObject, memberOf } from '../document/json-object.ts'
import { parseShape } from '../geo/geo-json.ts'
import { SHAPE_POSITIONS_MAX } from '../geo/shape.ts'
import { parseNumber } from './language/query-clause.ts'
import { refuse } from './query-limits.ts'
import type { JsonObject, JsonValue } from '../document/exact-json.ts'
import type { Shape } from '../geo/shape.ts'

const COLLECTION = 'GeometryCollection'

interface GeometryForm {
  /** How many arrays enclose a position. */
  readonly levels: 0 | 1 | 2 | 3
  /** The minimum length of the innermost list of positions. */
  readonly positionsMin: number
  readonly isClosed: boolean
}

const FORMS: Readonly<Record<string, GeometryForm>> = {
  Point: { levels: 0, positionsMin: 1, isClosed: false },
  MultiPoint: { levels: 1, positionsMin: 1, isClosed: false },
  LineString: { levels: 1, positionsMin: 2, isClosed: false },
  MultiLineString: { levels: 2, positionsMin: 2, isClosed: false },
  Polygon: { levels: 2, positionsMin: 4, isClosed: true },
  MultiPolygon: { levels: 3, positionsMin: 4, isClosed: true },
}

interface PositionBudget {
  positionsLeft: number
}

/**
 * Parses a geometry. A collection may not hold collections. `where` is its place in the request.
 */
export function parseGeometry(value: JsonValue | undefined, where: string): Shape {
  checkShape(value, where)
  return must(value === undefined ? undefined : parseShape(value), 'a shape that was checked')
}

function checkShape(value: JsonValue | undefined, where: string): void {
  const budget = { positionsLeft: SHAPE_POSITIONS_MAX }
  if (!isJsonObject(value)) return refuse(where, 'must be a GeoJSON geometry, an object')
  if (memberOf(value, 'type') !== COLLECTION) {
    checkGeometry(value, where, budget)
    return
  }
  const geometries = memberOf(value, 'geometries')
  if (!isJsonArray(geometries) || geometries.length === 0) {
    refuse(`${where}.geometries`, 'must be an array of at least one geometry')
  }
  for (const [index, geometry] of geometries.entries()) {
    const place = `${where}.geometries[${index}]`
    if (!isJsonObject(geometry)) refuse(place, 'must be a GeoJSON geometry, an object')
    checkGeometry(geometry, place, budget)
  }
}

function checkGeometry(geometry: JsonObject, where: string, budget: PositionBudget): void {
  const type = memberOf(geometry, 'type')
  const form = typeof type === 'string' && Object.hasOwn(FORMS, type) ? FORMS[type] : undefined
  if (form === undefined) {
    return refuse(`${where}.type`, `must be one of ${Object.keys(FORMS).join(', ')}`)
  }
  const coordinates = memberOf(geometry, 'coordinates')
  checkLevel(coordinates, { ...form, where: `${where}.coordinates`, left: form.levels, budget })
}

interface Level extends GeometryForm {
  readonly where: string
  /** How many levels of arrays remain. */
  readonly left: number
  readonly budget: PositionBudget
}

function checkLevel(value: JsonValue | undefined, level: Level): void {
  const { where, left } = level
  if (left === 0) {
    checkPosition(value, level)
    return
  }
  const min = left === 1 ? level.positionsMin : 1
  if (!isJsonArray(value) || value.length < min) {
    refuse(where, `must be an array of at least ${min}`)
  }
  for (const [index, inner] of value.entries()) {
    checkLevel(inner, { ...level, where: `${where}[${index}]`, left: left - 1 })
  }
  if (left === 1 && level.isClosed) checkClosed(value, where)
}

/** Accepts a third number, the altitude, and ignores it. */
function checkPosition(value: JsonValue | undefined, { where, budget }: Level): void {
  if (--budget.positionsLeft < 0) {
    refuse(where, `a shape may have at most ${SHAPE_POSITIONS_MAX} positions`)
  }
  if (!isJsonArray(value) || value.length < 2 || value.length > 3) {
    refuse(where, 'must be a position: [longitude, latitude]')
  }
  const [lon = NaN, lat = NaN] = value.map((part, index) => parseNumber(part, `${where}[${index}]`))
  if (Math.abs(lon) > 180) refuse(where, `the longitude must be from -180 to 180, not ${lon}`)
  if (Math.abs(lat) > 90) refuse(where, `the latitude must be from -90 to 90, not ${lat}`)
}

function checkClosed(ring: readonly JsonValue[], where: string): void {
  if (JSON.stringify(ring[0]) === JSON.stringify(ring.at(-1))) return
  refuse(where, 'must end with its first position')
}
