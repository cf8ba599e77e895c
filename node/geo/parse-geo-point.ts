// Parses the notations of a point in a document: {lat, lon}, {lat, lng}, [lon, lat], "lat,lon", a
// geohash, and a GeoJSON Point.

import { numberOf } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from '../document/json-object.ts'
import type { JsonValue } from '../document/exact-json.ts'
import type { GeoPoint } from './geo-point.ts'
import { centreOfGeohash } from './geohash.ts'

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
