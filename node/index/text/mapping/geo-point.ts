// The ways to write a point in a document: {lat, lon}, {lat, lng}, [lon, lat], "lat,lon", a geohash,
// and for shapes a GeoJSON Point or MultiPoint.

import { numberOf } from '../../../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from '../../../document/json-object.ts'
import type { JsonValue } from '../../../document/exact-json.ts'
import type { GeoPoint } from '../../../query/query-tree.ts'

// Base 32 as geohashes have it, without a, i, l and o.
const GEOHASH_DIGITS = '0123456789bcdefghjkmnpqrstuvwxyz'
const GEOHASH = /^[0-9b-hjkmnp-z]{1,12}$/i
const DECIMAL = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** Undefined if the value is no point, or one off the globe. */
export function parseGeoPoint(value: JsonValue): GeoPoint | undefined {
  if (typeof value === 'string') return parsePointText(value)
  if (isJsonArray(value)) {
    return value.length === 2 || value.length === 3 ? pointOf(value[0], value[1]) : undefined
  }
  if (!isJsonObject(value)) return undefined
  return pointOf(memberOf(value, 'lon') ?? memberOf(value, 'lng'), memberOf(value, 'lat'))
}

/** The points of a field's value: one, or several if it is an array of points. */
export function parseGeoPoints(value: JsonValue): readonly (GeoPoint | undefined)[] {
  if (isJsonArray(value)) {
    const isOnePoint = value.length > 0 && value.every((part) => numberOf(part) !== undefined)
    return isOnePoint ? [parseGeoPoint(value)] : value.flatMap(parseGeoPoints)
  }
  if (!isJsonObject(value)) return [parseGeoPoint(value)]
  const type = memberOf(value, 'type')
  const coordinates = memberOf(value, 'coordinates')
  if (type === 'Point' && coordinates !== undefined) return [parseGeoPoint(coordinates)]
  if (type === 'MultiPoint' && isJsonArray(coordinates)) return coordinates.map(parseGeoPoint)
  return [parseGeoPoint(value)]
}

function pointOf(lonValue: JsonValue | undefined, latValue: JsonValue | undefined) {
  const lon = numberOf(lonValue) ?? NaN
  const lat = numberOf(latValue) ?? NaN
  return Math.abs(lon) <= 180 && Math.abs(lat) <= 90 ? { lon, lat } : undefined
}

function parsePointText(text: string): GeoPoint | undefined {
  const [lat = '', lon, ...rest] = text.split(',')
  if (lon === undefined) return GEOHASH.test(text) ? centreOf(text.toLowerCase()) : undefined
  if (rest.length > 0 || !DECIMAL.test(lat) || !DECIMAL.test(lon)) return undefined
  return pointOf(Number(lon), Number(lat))
}

/** The middle of the cell: its bits halve the longitudes and the latitudes in turn. */
function centreOf(geohash: string): GeoPoint {
  const lon = { low: -180, high: 180 }
  const lat = { low: -90, high: 90 }
  let isLon = true
  for (const character of geohash) {
    const digit = GEOHASH_DIGITS.indexOf(character)
    for (let bit = 16; bit > 0; bit >>= 1) {
      const axis = isLon ? lon : lat
      const middle = (axis.low + axis.high) / 2
      if ((digit & bit) === 0) axis.high = middle
      else axis.low = middle
      isLon = !isLon
    }
  }
  return { lon: (lon.low + lon.high) / 2, lat: (lat.low + lat.high) / 2 }
}
