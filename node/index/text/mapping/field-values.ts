// Converts one JSON value to a value of an index field. Answers undefined if it has another kind.

import { isBeyondDoubles } from '../../../document/decimal.ts'
import { isRawNumber, numberOf } from '../../../document/exact-json.ts'
import { parseDateMs } from '../../../schema/rfc3339.ts'
import type { JsonValue } from '../../../document/exact-json.ts'

/** A number or boolean becomes its JSON text. An object is not text. */
export function textOf(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return isRawNumber(value) ? value.rawJSON : undefined
}

export function finiteNumberOf(value: JsonValue): number | undefined {
  const number = numberOf(value)
  return number !== undefined && Number.isFinite(number) ? number : undefined
}

/** Accepts an RFC 3339 timestamp, a day in UTC, or a number of milliseconds since 1970. */
export function dateMsOf(value: JsonValue): number | undefined {
  return typeof value === 'string' ? parseDateMs(value) : finiteNumberOf(value)
}

export function booleanTermOf(value: JsonValue): string | undefined {
  return value === true || value === false || value === 'true' || value === 'false'
    ? String(value)
    : undefined
}

/** The decimal of a number that no double means, with all its digits; undefined for other values. */
export function decimalBeyond(value: JsonValue): string | undefined {
  return isRawNumber(value) && isBeyondDoubles(value.rawJSON) ? value.rawJSON : undefined
}
