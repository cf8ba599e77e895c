// GeoJSON geometries (RFC 7946, section 3.1), checked.

import { isJsonArray, isJsonObject, memberOf } from '../document/json-object.ts'
import { parseNumber } from './query-clause.ts'
import { refuse } from './query-limits.ts'
import type { JsonObject, JsonValue } from '../document/exact-json.ts'

const POSITIONS_MAX = 10_000
const COLLECTION = 'GeometryCollection'

interface GeometryForm {
  /** How many arrays are around a position. */
  readonly levels: 0 | 1 | 2 | 3
  /** Of the innermost list of positions. */
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

interface Budget {
  positionsLeft: number
}

/** The geometry itself, once nothing is wrong with it. Collections hold no collections. */
export function parseGeometry(value: JsonValue | undefined, where: string): JsonObject {
  const budget = { positionsLeft: POSITIONS_MAX }
  if (!isJsonObject(value)) return refuse(where, 'must be a GeoJSON geometry, an object')
  if (memberOf(value, 'type') !== COLLECTION) return checkGeometry(value, where, budget)
  const geometries = memberOf(value, 'geometries')
  if (!isJsonArray(geometries) || geometries.length === 0) {
    refuse(`${where}.geometries`, 'must be an array of at least one geometry')
  }
  for (const [index, geometry] of geometries.entries()) {
    const place = `${where}.geometries[${index}]`
    if (!isJsonObject(geometry)) refuse(place, 'must be a GeoJSON geometry, an object')
    checkGeometry(geometry, place, budget)
  }
  return value
}

function checkGeometry(geometry: JsonObject, where: string, budget: Budget): JsonObject {
  const type = memberOf(geometry, 'type')
  const form = typeof type === 'string' && Object.hasOwn(FORMS, type) ? FORMS[type] : undefined
  if (form === undefined) {
    return refuse(`${where}.type`, `must be one of ${Object.keys(FORMS).join(', ')}`)
  }
  const coordinates = memberOf(geometry, 'coordinates')
  checkLevel(coordinates, { ...form, where: `${where}.coordinates`, left: form.levels, budget })
  return geometry
}

interface Level extends GeometryForm {
  readonly where: string
  /** Levels of arrays still to go. */
  readonly left: number
  readonly budget: Budget
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

/** A third number is an altitude, which is allowed and without meaning here. */
function checkPosition(value: JsonValue | undefined, { where, budget }: Level): void {
  if (--budget.positionsLeft < 0) refuse(where, `more than ${POSITIONS_MAX} positions in all`)
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
