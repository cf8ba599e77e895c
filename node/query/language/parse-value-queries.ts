// Parses the leaves of the JSON language that compare values: ranges, booleans, addresses.

import { isIP } from 'node:net'
import { isRawNumber } from '../../document/exact-json.ts'
import { compareNumbers, isJsonNumber } from '../../document/json-number.ts'
import { memberOf } from '../../document/json-object.ts'
import { dateBoundsMs, parseDateMs } from '../../schema/rfc3339.ts'
import {
  boostOf,
  choiceOf,
  fieldOf,
  flagOf,
  optionalTextOf,
  parseNumber,
  parseText,
  shown,
  textOf,
} from './query-clause.ts'
import { refuse } from '../query-limits.ts'
import type { JsonValue } from '../../document/exact-json.ts'
import type { JsonNumber } from '../../document/json-number.ts'
import type { Clause } from './query-clause.ts'
import type { Query, QueryBounds } from '../query-tree.ts'

const DATE_PARSERS = ['dateTimeOptional'] as const

/** Parses `{min, max}` with two numbers or two strings. */
export function parseRange(clause: Clause): Query {
  const { members, where } = clause
  const [field, boost] = [fieldOf(clause), boostOf(clause)]
  const [min, max] = [memberOf(members, 'min'), memberOf(members, 'max')]
  const inclusiveMin = flagOf(clause, 'inclusive_min', true)
  const inclusiveMax = flagOf(clause, 'inclusive_max', false)
  if (isNumberOrAbsent(min) && isNumberOrAbsent(max)) {
    const exact = { min, max, inclusiveMin, inclusiveMax }
    const bounds = {
      ...exact,
      min: doubleOf(min, `${where}.min`),
      max: doubleOf(max, `${where}.max`),
    }
    refuseReversed(exact, compareNumbers, where)
    const isRounded = isRawNumber(min) || isRawNumber(max)
    if (!isRounded) return { kind: 'numbers', field, bounds, boost }
    const decimals = { ...exact, min: decimalOf(min), max: decimalOf(max) }
    return { kind: 'numbers', field, bounds, exact: decimals, boost }
  }
  if (!isTextOrAbsent(min) || !isTextOrAbsent(max)) {
    return refuse(
      where,
      'min and max must be two numbers or two strings; one of them may be absent',
    )
  }
  const bounds = {
    min: optionalTextOf(clause, 'min'),
    max: optionalTextOf(clause, 'max'),
    inclusiveMin,
    inclusiveMax,
  }
  refuseReversed(bounds, compareText, where)
  return { kind: 'terms', field, bounds, boost }
}

export function parseDateRange(clause: Clause): Query {
  choiceOf(clause, 'datetime_parser', DATE_PARSERS)
  const texts = {
    min: dateTextOf(clause, 'start'),
    max: dateTextOf(clause, 'end'),
    inclusiveMin: flagOf(clause, 'inclusive_start', true),
    inclusiveMax: flagOf(clause, 'inclusive_end', false),
  }
  const { min, max } = dateBoundsMs({ ...texts, inclusiveMin: true, inclusiveMax: false })
  refuseReversed({ ...texts, min, max }, (left, right) => left - right, clause.where)
  const bounds = dateBoundsMs(texts)
  return { kind: 'dates', field: fieldOf(clause), bounds, boost: boostOf(clause) }
}

export function parseBool(clause: Clause): Query {
  const value = flagOf(clause, 'bool', false)
  return { kind: 'bool', field: fieldOf(clause), value, boost: boostOf(clause) }
}

export function parseIpRange(clause: Clause): Query {
  const cidr = textOf(clause, 'cidr')
  if (!isCidr(cidr)) {
    refuse(
      `${clause.where}.cidr`,
      `not an address range: ${shown(cidr)}; write a range such as 10.0.0.0/8 or 2001:db8::/32`,
    )
  }
  return { kind: 'ip', field: fieldOf(clause), cidr, boost: boostOf(clause) }
}

/** An address without a length is a range of one address. */
function isCidr(text: string): boolean {
  const [address = '', length, ...more] = text.split('/')
  const version = address.includes('%') ? 0 : isIP(address)
  if (version === 0 || more.length > 0) return false
  if (length === undefined) return true
  return /^(?:0|[1-9]\d{0,2})$/.test(length) && Number(length) <= (version === 4 ? 32 : 128)
}

/** A text that `parseDateMs` reads. */
function dateTextOf({ members, where }: Clause, name: string): string | undefined {
  const value = memberOf(members, name)
  if (value === undefined) return undefined
  const text = parseText(value, `${where}.${name}`)
  if (parseDateMs(text) !== undefined) return text
  return refuse(
    `${where}.${name}`,
    `not a date: ${shown(text)}; write 2024-05-01 or 2024-05-01T12:30:00Z (RFC 3339)`,
  )
}

function refuseReversed<Value>(
  { min, max }: QueryBounds<Value>,
  compare: (left: Value, right: Value) => number,
  where: string,
): void {
  if (min === undefined || max === undefined || compare(min, max) <= 0) return
  refuse(where, 'the lower bound of the range is above its upper bound')
}

/** Compares by UTF-8 bytes of composed texts, as the terms of an index are ordered. */
function compareText(left: string, right: string): number {
  const [one, other] = [left.normalize('NFC'), right.normalize('NFC')]
  return Buffer.compare(Buffer.from(one, 'utf8'), Buffer.from(other, 'utf8'))
}

function decimalOf(value: JsonNumber | undefined): string | undefined {
  return isRawNumber(value) ? value.rawJSON : value === undefined ? undefined : String(value)
}

function doubleOf(value: JsonNumber | undefined, where: string): number | undefined {
  return value === undefined ? undefined : parseNumber(value, where)
}

function isNumberOrAbsent(value: JsonValue | undefined) {
  return value === undefined || isJsonNumber(value)
}

function isTextOrAbsent(value: JsonValue | undefined): value is string | undefined {
  return value === undefined || typeof value === 'string'
}
