// Converts JSON text to values and back without losing digits.
//
// A double cannot carry every number from text to text: not an integer beyond 2^53, and not a
// fraction of more than 17 digits. Such a number becomes a RawNumber, which keeps its digits and is
// written as it was read. Members named `__proto__` or `constructor` are plain own data, as
// JSON.parse makes them.

import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'

/**
 * A number that is kept as its text, as `JSON.rawJSON` makes it. Only `isRawNumber` tells it from
 * an object.
 */
export interface RawNumber {
  readonly rawJSON: string
}

export type JsonValue = null | boolean | number | string | RawNumber | JsonArray | JsonObject
export type JsonArray = readonly JsonValue[]
/**
 * A JSON object. Read its members with `memberOf`, so that an inherited name is never taken for a
 * member.
 */
export interface JsonObject {
  readonly [name: string]: JsonValue
}

type ExactReviver = (
  name: string,
  value: JsonValue,
  context: { readonly source?: string },
) => unknown

declare global {
  // "JSON.parse source text access" (ECMA-262 proposal, in Node 24). The typings lack it.
  interface JSON {
    rawJSON(text: string): RawNumber
    isRawJSON(value: unknown): value is RawNumber
    parse(text: string, reviver: ExactReviver): JsonValue
  }
}

// A number that a double cannot carry has at least 16 digits. Other text may match too, such as a
// long identifier in a string; that costs time and changes nothing.
const SUSPICIOUS = /\d[\d.]{15}/

const SUSPICIOUS_LENGTH = 16
/** How many characters one step searches. */
const SEARCHED_PER_STEP = 256 * 1024

export function parseExact(text: string | Buffer): JsonValue {
  const source = typeof text === 'string' ? text : text.toString('utf8')
  return parseSource(source, mayLoseDigits(source))
}

/** Whether a number of the text may have more digits than a double carries. */
export function mayLoseDigits(source: string): boolean {
  return SUSPICIOUS.test(source)
}

/** Parses as `parseExact` does, but every number becomes the nearest double. */
export function parseDoubles(source: string): JsonValue {
  return parseSource(source, false)
}

/**
 * Parses as `parseExact` does. Decoding, searching and parsing are separate steps, for the few
 * values that may be long.
 */
export function* parseExactInSteps(json: Buffer): Sliced<JsonValue> {
  if (json.length <= SEARCHED_PER_STEP) return parseExact(json)
  const source = json.toString('utf8')
  let isSuspicious = false
  for (let from = 0; from < source.length && !isSuspicious; from += SEARCHED_PER_STEP) {
    yield
    const to = from + SEARCHED_PER_STEP + SUSPICIOUS_LENGTH
    isSuspicious = mayLoseDigits(source.slice(from, to))
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

/** The nearest double; undefined if the value is not a number. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value
  return isRawNumber(value) ? Number(value.rawJSON) : undefined
}

/** The name of a value's type, for messages. */
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
  // Beyond the safe integers, a double may print like its source and still be another integer.
  const isExact = String(value) === source && (/[.eE]/.test(source) || Number.isSafeInteger(value))
  return isExact ? value : JSON.rawJSON(source)
}
