// Filters that are evaluated on one document in memory: the part of the query language that needs
// no index.
//
// A missing field never matches. An array matches if one of its elements does.

import { isIP } from 'node:net'
import type { BlockList } from 'node:net'
import { unreachable } from '../../../lib/assert.ts'
import { isRawNumber } from '../../document/exact-json.ts'
import { valuesAt, wholeValuesAt } from '../../document/field-path.ts'
import { compareNumbers, isJsonNumber } from '../../document/json-number.ts'
import { parseShapes } from '../../geo/geo-json.ts'
import { parseRfc3339Ms } from '../../schema/rfc3339.ts'
import type { JsonObject, JsonValue } from '../../document/exact-json.ts'
import type { FieldPath } from '../../document/field-path.ts'
import type { JsonNumber } from '../../document/json-number.ts'
import type { Shape } from '../../geo/shape.ts'
import type { GeoTest } from './geo-test.ts'

const NUMERIC = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const WORD = /[\p{L}\p{M}\p{N}]+/gu

/** The bounds of a range. An undefined bound is open. */
export interface Bounds<T> {
  readonly min: T | undefined
  readonly max: T | undefined
  readonly inclusiveMin: boolean
  readonly inclusiveMax: boolean
}

/** The place of a field's values in a document. */
export interface FilterField {
  readonly path: FieldPath
  /**
   * Set if the path names a sub-field that only indexes have: the path of its values in the
   * document.
   */
  readonly whole: FieldPath | undefined
}

export type DocumentFilter =
  | { readonly kind: 'all' }
  | { readonly kind: 'none' }
  | { readonly kind: 'ids'; readonly keys: ReadonlySet<string> }
  | { readonly kind: 'match'; readonly field: FilterField; readonly words: WordTest }
  /** Tests the value as a whole, because an array may be a point. */
  | { readonly kind: 'place'; readonly field: FieldPath; readonly test: GeoTest }
  | { readonly kind: 'field'; readonly field: FilterField; readonly test: ValueTest }
  | { readonly kind: 'and'; readonly filters: readonly DocumentFilter[] }
  | { readonly kind: 'or'; readonly filters: readonly DocumentFilter[]; readonly min: number }
  | { readonly kind: 'not'; readonly filter: DocumentFilter }

/** Tests all words of a field together, whichever elements of an array hold them. */
export interface WordTest {
  readonly words: readonly string[]
  /** The beginning of one more word; undefined if there is none. */
  readonly prefix: string | undefined
  readonly operator: 'or' | 'and'
}

/** Tests one value. */
export type ValueTest =
  | { readonly kind: 'exists' }
  | { readonly kind: 'term'; readonly term: ExactTerm }
  /** Tests prefixes, wildcards and phrases. */
  | { readonly kind: 'text'; readonly holds: (text: string) => boolean }
  | { readonly kind: 'range'; readonly range: RangeTest }
  | { readonly kind: 'bool'; readonly value: boolean }

export type RangeTest =
  | { readonly kind: 'numbers'; readonly bounds: Bounds<JsonNumber> }
  | { readonly kind: 'text'; readonly bounds: Bounds<Buffer> }
  /** The bounds are in milliseconds since 1970. */
  | { readonly kind: 'dates'; readonly bounds: Bounds<number> }
  | { readonly kind: 'untyped'; readonly bounds: UntypedBounds }
  | { readonly kind: 'addresses'; readonly version: 'ipv4' | 'ipv6'; readonly block: BlockList }

/** The same bounds, read as each type of value. Undefined for a type that a bound cannot be. */
export interface UntypedBounds {
  readonly numbers: Bounds<JsonNumber> | undefined
  /** In milliseconds since 1970. */
  readonly dates: Bounds<number> | undefined
  readonly text: Bounds<Buffer>
}

/** A term to compare with one value: strings as text, numbers as a number, booleans by name. */
export interface ExactTerm {
  readonly text: string
  readonly number: JsonNumber | undefined
}

/** `key` is the document's key as UTF-8 bytes. */
export function matchesFilter(filter: DocumentFilter, document: JsonObject, key: Buffer): boolean {
  switch (filter.kind) {
    case 'all':
      return true
    case 'none':
      return false
    case 'ids':
      return filter.keys.has(key.toString('utf8'))
    case 'and':
      return filter.filters.every((inner) => matchesFilter(inner, document, key))
    case 'or':
      return matchesAtLeast(filter.min, filter.filters, (inner) =>
        matchesFilter(inner, document, key),
      )
    case 'not':
      return !matchesFilter(filter.filter, document, key)
    case 'match':
      return matchesWords(filter.words, valuesOf(document, filter.field))
    case 'place':
      return wholeValuesAt(document, filter.field).some((value) => holdsPlace(filter.test, value))
    case 'field':
      return valuesOf(document, filter.field).some((value) => matchesValue(filter.test, value))
    default:
      return unreachable(filter)
  }
}

function valuesOf(document: JsonObject, { path, whole }: FilterField): readonly JsonValue[] {
  const values = valuesAt(document, path)
  return values.length > 0 || whole === undefined ? values : valuesAt(document, whole)
}

/**
 * Splits text into words as this evaluator compares them: runs of letters, marks and digits, in
 * lower case. A number between spaces is one word, with its sign and point.
 */
export function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .flatMap((piece) => (NUMERIC.test(piece) ? [piece] : (piece.match(WORD) ?? [])))
}

export function termOf(value: string | boolean | JsonNumber): ExactTerm {
  const text = isRawNumber(value) ? value.rawJSON : String(value)
  if (isJsonNumber(value)) return { text, number: value }
  return { text, number: typeof value === 'string' ? jsonNumberFrom(text) : undefined }
}

/** The number that the text spells in JSON; undefined if it is not a number. */
export function jsonNumberFrom(text: string): JsonNumber | undefined {
  const double = NUMERIC.test(text) ? Number(text) : NaN
  if (!Number.isFinite(double)) return undefined
  return String(double) === text ? double : JSON.rawJSON(text)
}

function matchesValue(test: ValueTest, value: JsonValue): boolean {
  switch (test.kind) {
    case 'exists':
      return value !== null
    case 'term':
      return matchesTerm(test.term, value)
    case 'range':
      return isInRange(test.range, value)
    case 'bool':
      return value === test.value
    case 'text':
      return typeof value === 'string' && test.holds(value)
    default:
      return unreachable(test)
  }
}

function isInRange(range: RangeTest, value: JsonValue): boolean {
  switch (range.kind) {
    case 'numbers':
      return isJsonNumber(value) && isNumberWithin(range.bounds, value)
    case 'text':
      return typeof value === 'string' && isTextWithin(range.bounds, value)
    case 'dates':
      return isDateWithin(range.bounds, value)
    case 'untyped':
      return isUntypedWithin(range.bounds, value)
    case 'addresses':
      return typeof value === 'string' && isAddressWithin(range, value)
    default:
      return unreachable(range)
  }
}

function matchesTerm(term: ExactTerm, value: JsonValue): boolean {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value) === term.text
  if (!isJsonNumber(value)) return false
  return term.number !== undefined && compareNumbers(value, term.number) === 0
}

function matchesWords(
  { words, prefix, operator }: WordTest,
  values: readonly JsonValue[],
): boolean {
  const found = new Set(values.flatMap((value) => wordsOf(textOf(value))))
  if (prefix !== undefined && found.values().some((word) => word.startsWith(prefix))) return true
  if (words.length === 0) return false
  return matchesAtLeast(operator === 'and' ? words.length : 1, words, (word) => found.has(word))
}

function holdsPlace(test: GeoTest, value: JsonValue): boolean {
  return parseShapes(value).some((shape) => shape !== undefined && isPlace(test, shape))
}

/** Tests a single point as an index of points does, so both agree to the last digit. */
function isPlace(test: GeoTest, shape: Shape): boolean {
  const [part] = shape
  const place = part?.paths[0]?.[0]
  const isPoint = shape.length === 1 && part?.kind === 'point'
  return isPoint && place !== undefined ? test.point(place) : test.shape(shape)
}

function textOf(value: JsonValue): string {
  if (isRawNumber(value)) return value.rawJSON
  return value === null || typeof value === 'object' ? '' : String(value)
}

/** `compare` compares the value with a bound. */
function isWithin<T>(bounds: Bounds<T>, compare: (bound: T) => number): boolean {
  const { min, max, inclusiveMin, inclusiveMax } = bounds
  const low = min === undefined ? 1 : compare(min)
  const high = max === undefined ? -1 : compare(max)
  return (low > 0 || (low === 0 && inclusiveMin)) && (high < 0 || (high === 0 && inclusiveMax))
}

function isNumberWithin(bounds: Bounds<JsonNumber>, value: JsonNumber): boolean {
  return isWithin(bounds, (bound) => compareNumbers(value, bound))
}

/** Compares text by its UTF-8 bytes, as the terms of an index are ordered. */
function isTextWithin(bounds: Bounds<Buffer>, value: string): boolean {
  const bytes = Buffer.from(value, 'utf8')
  return isWithin(bounds, (bound) => Buffer.compare(bytes, bound))
}

function isDateWithin(bounds: Bounds<number>, value: JsonValue): boolean {
  const dateMs = typeof value === 'string' ? parseRfc3339Ms(value) : undefined
  return dateMs !== undefined && isWithin(bounds, (bound) => dateMs - bound)
}

/** If the bounds are dates, a text that is a date compares as a date. */
function isUntypedWithin({ numbers, dates, text }: UntypedBounds, value: JsonValue): boolean {
  if (isJsonNumber(value)) {
    return numbers !== undefined && isNumberWithin(numbers, value)
  }
  if (typeof value !== 'string') return false
  const isDate = dates !== undefined && parseRfc3339Ms(value) !== undefined
  return isDate ? isDateWithin(dates, value) : isTextWithin(text, value)
}

function isAddressWithin(
  { version, block }: Extract<RangeTest, { readonly kind: 'addresses' }>,
  text: string,
): boolean {
  return isIP(text) === (version === 'ipv4' ? 4 : 6) && block.check(text, version)
}

function matchesAtLeast<T>(
  min: number,
  candidates: readonly T[],
  isMatch: (candidate: T) => boolean,
): boolean {
  let matched = 0
  for (const candidate of candidates) {
    if (matched >= min) break
    if (isMatch(candidate)) matched++
  }
  return matched >= min
}
