// The notations of a point in a document: {lat, lon}, {lat, lng}, [lon, lat], "lat,lon", a geohash,
// and a GeoJSON Point.

import { numberOf } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from '../document/json-object.ts'
import type { JsonValue } from '../document/exact-json.ts'
import { centreOfGeohash } from './geohash.ts'

/** A point on the globe, in degrees. */
export interface GeoPoint {
  /** -180 to 180. */
  readonly lon: number
  /** -90 to 90. */
  readonly lat: number
}

const DECIMAL = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** Undefined if the value is not a point, or lies off the globe. */
export function parseGeoPoint(value: JsonValue): GeoPoint | undefined {
  if (typeof value === 'string') return parsePointText(value)
  if (isJsonArray(value)) {
    return value.length === 2 || value.length === 3 ? pointOf(value[0], value[1]) : undefined
  }
  if (!isJsonObject(value)) return undefined
  if (memberOf(value, 'type') === 'Point') {
    return parseGeoPoint(memberOf(value, 'coordinates') ?? null)
  }
  return pointOf(memberOf(value, 'lon') ?? memberOf(value, 'lng'), memberOf(value, 'lat'))
}

/**
 * The points of a field's value: one, or several if the value is an array of points. An element is
 * undefined where `parseGeoPoint` answers undefined.
 */
export function parseGeoPoints(value: JsonValue): readonly (GeoPoint | undefined)[] {
  if (isJsonArray(value)) {
    const isOnePoint = value.length > 0 && value.every((part) => numberOf(part) !== undefined)
    return isOnePoint ? [parseGeoPoint(value)] : value.flatMap(parseGeoPoints)
  }
  return [parseGeoPoint(value)]
}

function pointOf(lonValue: JsonValue | undefined, latValue: JsonValue | undefined) {
  const lon = numberOf(lonValue) ?? NaN
  const lat = numberOf(latValue) ?? NaN
  return Math.abs(lon) <= 180 && Math.abs(lat) <= 90 ? { lon, lat } : undefined
}

function parsePointText(text: string): GeoPoint | undefined {
  const [lat = '', lon, ...rest] = text.split(',')
  if (lon === undefined) return centreOfGeohash(text)
  if (rest.length > 0 || !DECIMAL.test(lat) || !DECIMAL.test(lon)) return undefined
  return pointOf(Number(lon), Number(lat))
}
