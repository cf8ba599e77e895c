// One JSON value as a value of an index field; undefined if it is none of that kind.

import { isRawNumber, numberOf } from '../../../document/exact-json.ts'
import { parseDateMs } from '../../../schema/rfc3339.ts'
import type { JsonValue } from '../../../document/exact-json.ts'

/** Numbers and booleans are known by their JSON text; objects are not text. */
export function textOf(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return isRawNumber(value) ? value.rawJSON : undefined
}

export function finiteNumberOf(value: JsonValue): number | undefined {
  const number = numberOf(value)
  return number !== undefined && Number.isFinite(number) ? number : undefined
}

/** An RFC 3339 timestamp, a day of UTC, or a number of milliseconds since 1970. */
export function dateMsOf(value: JsonValue): number | undefined {
  return typeof value === 'string' ? parseDateMs(value) : finiteNumberOf(value)
}

export function booleanTermOf(value: JsonValue): string | undefined {
  return value === true || value === false || value === 'true' || value === 'false'
    ? String(value)
    : undefined
}
