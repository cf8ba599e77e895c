// JSON text to values and back without losing digits.
//
// A number that a double cannot carry from text to text (an integer beyond 2^53, a fraction of more
// than 17 digits) becomes a RawNumber, which holds its digits and is written back as it came.
// Members named `__proto__` or `constructor` are plain own data, as JSON.parse makes them.

import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'

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

const SUSPICIOUS_LENGTH = 16
/** Characters that are searched in a step. */
const SEARCHED_PER_STEP = 256 * 1024

export function parseExact(text: string | Buffer): JsonValue {
  const source = typeof text === 'string' ? text : text.toString('utf8')
  return parseSource(source, SUSPICIOUS.test(source))
}

/** As `parseExact`, for a few values that may be long: to decode, to search and to parse are steps apart. */
export function* parseExactInSteps(json: Buffer): Sliced<JsonValue> {
  if (json.length <= SEARCHED_PER_STEP) return parseExact(json)
  const source = json.toString('utf8')
  let isSuspicious = false
  for (let from = 0; from < source.length && !isSuspicious; from += SEARCHED_PER_STEP) {
    yield
    const to = from + SEARCHED_PER_STEP + SUSPICIOUS_LENGTH
    isSuspicious = SUSPICIOUS.test(source.slice(from, to))
  }
  yield
  return parseSource(source, isSuspicious)
}

function parseSource(source: string, isSuspicious: boolean): JsonValue {
  try {
    return isSuspicious ? JSON.parse(source, keepDigits) : plainParse(source)
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
