// Parses the leaves of the JSON language that compare places. Positions are [longitude, latitude].

import { isJsonArray, isJsonObject, memberOf } from '../../document/json-object.ts'
import {
  boostOf,
  checkMembers,
  choiceOf,
  fieldOf,
  listOf,
  parseNumber,
  shown,
  textOf,
} from './query-clause.ts'
import { parseGeometry } from '../parse-geometry.ts'
import { refuse } from '../query-limits.ts'
import type { JsonValue } from '../../document/exact-json.ts'
import type { Clause } from './query-clause.ts'
import type { GeoPoint } from '../../geo/geo-point.ts'
import type { Query } from '../query-tree.ts'

const POINTS_MAX = 1000
const POINT_FORMS = 'write [lon, lat], {"lat": .., "lon": ..} or "lat,lon"'
const RELATIONS = ['intersects', 'contains', 'within'] as const

/** Metres by unit. The nautical mile is 1852 m and the foot 0.3048 m by definition. */
export const METRES_BY_UNIT: Readonly<Record<string, number>> = {
  m: 1,
  km: 1000,
  mi: 1609.344,
  ft: 0.3048,
  yd: 0.9144,
  nm: 1852,
}

export function parseGeoBox(clause: Clause): Query {
  const topLeft = pointOf(clause, 'top_left')
  const bottomRight = pointOf(clause, 'bottom_right')
  if (topLeft.lat < bottomRight.lat) {
    refuse(clause.where, 'top_left lies south of bottom_right; swap their latitudes')
  }
  const [field, boost] = [fieldOf(clause), boostOf(clause)]
  return { kind: 'geo-box', field, topLeft, bottomRight, boost }
}

export function parseGeoDistance(clause: Clause): Query {
  const centre = pointOf(clause, 'location')
  const metres = parseDistance(textOf(clause, 'distance'), `${clause.where}.distance`)
  return { kind: 'geo-distance', field: fieldOf(clause), centre, metres, boost: boostOf(clause) }
}

export function parseGeoPolygon(clause: Clause): Query {
  const list = listOf(clause, 'polygon_points', { what: 'point', max: POINTS_MAX })
  const where = `${clause.where}.polygon_points`
  const points = list.map((point, index) => parsePoint(point, `${where}[${index}]`))
  if (points.length < 3) refuse(where, 'must hold at least three points')
  return { kind: 'geo-polygon', field: fieldOf(clause), points, boost: boostOf(clause) }
}

export function parseGeoShape(clause: Clause): Query {
  const members = memberOf(clause.members, 'geometry')
  const where = `${clause.where}.geometry`
  if (!isJsonObject(members)) return refuse(where, 'must be an object with shape and relation')
  const inner: Clause = { ...clause, members, where }
  checkMembers(inner, ['shape', 'relation'])
  const shape = parseGeometry(memberOf(members, 'shape'), `${where}.shape`)
  const relation = choiceOf(inner, 'relation', RELATIONS) ?? 'intersects'
  const [field, boost] = [fieldOf(clause), boostOf(clause)]
  return { kind: 'geo-shape', field, shape, relation, boost }
}

export function parseDistance(text: string, where: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?|\.\d+) ?([a-z]+)$/.exec(text) ?? []
  const metres = Number(amount) * (METRES_BY_UNIT[unit] ?? NaN)
  if (Number.isFinite(metres)) return metres
  return refuse(
    where,
    `not a distance: ${shown(text)}; write a number with one of the units ` +
      `${Object.keys(METRES_BY_UNIT).join(', ')}, such as 10km`,
  )
}

/** Parses `[lon, lat]`, `{lat, lon}`, `{lat, lng}` or `"lat,lon"`. */
export function parsePoint(value: JsonValue | undefined, where: string): GeoPoint {
  const { lon, lat } = coordinatesOf(value, where)
  if (Math.abs(lon) > 180) refuse(where, `the longitude must be from -180 to 180, not ${lon}`)
  if (Math.abs(lat) > 90) refuse(where, `the latitude must be from -90 to 90, not ${lat}`)
  return { lon, lat }
}

function coordinatesOf(value: JsonValue | undefined, where: string): GeoPoint {
  if (isJsonArray(value) && value.length === 2) {
    return { lon: parseNumber(value[0], `${where}[0]`), lat: parseNumber(value[1], `${where}[1]`) }
  }
  if (isJsonObject(value)) {
    const longitude = memberOf(value, 'lon') ?? memberOf(value, 'lng')
    const lat = parseNumber(memberOf(value, 'lat'), `${where}.lat`)
    return { lon: parseNumber(longitude, `${where}.lon`), lat }
  }
  const match = typeof value === 'string' && /^(-?[\d.]+), ?(-?[\d.]+)$/.exec(value)
  if (!match) return refuse(where, `not a point; ${POINT_FORMS}`)
  const [lat, lon] = [Number(match[1]), Number(match[2])]
  if (Number.isNaN(lat) || Number.isNaN(lon)) refuse(where, `not a point; ${POINT_FORMS}`)
  return { lon, lat }
}

function pointOf({ members, where }: Clause, name: string): GeoPoint {
  return parsePoint(memberOf(members, name), `${where}.${name}`)
}
