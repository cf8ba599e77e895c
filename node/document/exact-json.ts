// JSON text to values and back without losing digits.
//
// A number that a double cannot carry from text to text (an integer beyond 2^53, a fraction of more
// than 17 digits) becomes a RawNumber, which holds its digits and is written back as it came.
// Members named `__proto__` or `constructor` are plain own data, as JSON.parse makes them.

import { ServiceError } from '../../lib/errors.ts'

/** What `JSON.rawJSON` makes: a number known by its text. Tell it apart with `isRawNumber` only. */
export interface RawNumber {
  readonly rawJSON: string
}

export type JsonValue = null | boolean | number | string | RawNumber | JsonArray | JsonObject
export type JsonArray = readonly JsonValue[]
export interface JsonObject {
  readonly [name: string]: JsonValue
}

type ExactReviver = (
  name: string,
  value: JsonValue,
  context: { readonly source?: string },
) => unknown

declare global {
  // "JSON.parse source text access" (ECMA-262 proposal, in Node 24), which the typings leave out.
  interface JSON {
    rawJSON(text: string): RawNumber
    isRawJSON(value: unknown): value is RawNumber
    parse(text: string, reviver: ExactReviver): JsonValue
  }
}

// Every number that a double cannot carry has at least 16 digits. Text that only looks like one,
// such as a long identifier in a string, costs time and changes nothing.
const SUSPICIOUS = /\d[\d.]{15}/

export function parseExact(text: string | Buffer): JsonValue {
  const source = typeof text === 'string' ? text : text.toString('utf8')
  try {
    return SUSPICIOUS.test(source) ? JSON.parse(source, keepDigits) : plainParse(source)
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw new ServiceError('INVALID_ARGUMENT', `malformed JSON: ${cause.message}`, { cause })
  }
}

export function stringifyExact(value: JsonValue): string {
  return JSON.stringify(value)
}

export function isRawNumber(value: unknown): value is RawNumber {
  return JSON.isRawJSON(value)
}

/** The nearest double, or undefined if the value is not a number. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value
  return isRawNumber(value) ? Number(value.rawJSON) : undefined
}

/** The word for a value's type in messages to people. */
export function describeKind(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (isRawNumber(value)) return 'number'
  return typeof value
}

function plainParse(source: string): JsonValue {
  const value: JsonValue = JSON.parse(source)
  return value
}

function keepDigits(_name: string, value: JsonValue, context: { readonly source?: string }) {
  const { source } = context
  if (typeof value !== 'number' || source === undefined || source.length < 16) return value
  // Beyond the safe integers a double may print as its source and yet be another integer.
  const isExact = String(value) === source && (/[.eE]/.test(source) || Number.isSafeInteger(value))
  return isExact ? value : JSON.rawJSON(source)
}
