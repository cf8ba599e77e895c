// Geohashes. The bits halve the longitudes and the latitudes in turn; five bits make a character.

import type { GeoPoint } from './geo-point.ts'

// Base 32 without a, i, l and o.
const DIGITS = '0123456789bcdefghjkmnpqrstuvwxyz'
const GEOHASH = /^[0-9b-hjkmnp-z]{1,12}$/i

export function geohashOf(lon: number, lat: number, length: number): string {
  const axes: { readonly value: number; low: number; high: number }[] = [
    { value: lon, low: -180, high: 180 },
    { value: lat, low: -90, high: 90 },
  ]
  let text = ''
  let digit = 0
  for (let bit = 0; bit < length * 5; bit += 1) {
    const axis = axes[bit % 2]
    if (axis === undefined) break
    const middle = (axis.low + axis.high) / 2
    const isUpper = axis.value >= middle
    if (isUpper) axis.low = middle
    else axis.high = middle
    digit = digit * 2 + (isUpper ? 1 : 0)
    if (bit % 5 !== 4) continue
    text += DIGITS[digit] ?? ''
    digit = 0
  }
  return text
}

/** The centre of the cell; undefined if the text is not a geohash. */
export function centreOfGeohash(text: string): GeoPoint | undefined {
  if (!GEOHASH.test(text)) return undefined
  const lon = { low: -180, high: 180 }
  const lat = { low: -90, high: 90 }
  let isLon = true
  for (const character of text.toLowerCase()) {
    const digit = DIGITS.indexOf(character)
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
