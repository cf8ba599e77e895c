// Cursors: the position of a hit in the order of a result. A hit carries it as the strings of its
// `_sort`; a client sends them in `search_after` or `search_before`.
//
// A cursor has one string for each sort key, and one for the tie between equal hits:
//
//   n12.5      a number, with all its digits
//   stext      a text
//   x          no value
//   k1a2b3c4d.Ym9vay8x      digest of the order, then the document's key in base64url; behind another dot, what
//                           the scores of the page depend on (search/hits/cursor-scoring.ts)
//
// The digest detects a cursor of another order, because its values would be compared with the wrong
// fields.

import { hash } from 'node:crypto'
import { ServiceError } from '../../../lib/errors.ts'
import { isBeyondDoubles } from '../../document/decimal.ts'
import { KEY_BYTES_MAX } from '../../document/document-limits.ts'
import { isJsonArray } from '../../document/json-object.ts'
import { refuse } from '../query-limits.ts'
import type { JsonValue } from '../../document/exact-json.ts'

/** One key of an order. */
export interface SortKey {
  /** A field, or `_score` or `_id`. */
  readonly field: string
  readonly isDescending: boolean
}

/** The value of a document for one sort key; undefined if the field has no value. */
export type SortValue = number | string | ExactNumber | undefined

/** A number that no double means. It is plain data, so that it can cross threads. */
export interface ExactNumber {
  readonly decimal: string
}

/** The position of one hit in an order. */
export interface SortPosition {
  /** One for each sort key. */
  readonly values: readonly SortValue[]
  /** The document's key, UTF-8. */
  readonly key: Buffer
  /** What the scores of the page depend on, in base64url; undefined if they do not decide on the order. */
  readonly scoring?: string | undefined
}

const DIGEST_LENGTH = 8
const VALUE_LENGTH_MAX = 65_536

/** Makes the cursors of the hits of one page: they differ only in their values and keys. */
export class CursorWriter {
  readonly #order: readonly SortKey[]
  /** What the last strings end with, behind the key. */
  readonly #end: string
  /** What they begin with; undefined before the first. */
  #begin: string | undefined

  /** `scoring`: see `SortPosition`. */
  constructor(order: readonly SortKey[], scoring: string | undefined) {
    this.#order = order
    this.#end = scoring === undefined ? '' : `.${scoring}`
  }

  write(values: readonly SortValue[], key: Buffer): readonly string[] {
    this.#begin ??= `k${digestOf(this.#order)}.`
    const cursor = values.map(encodeValue)
    cursor.push(`${this.#begin}${key.toString('base64url')}${this.#end}`)
    return cursor
  }
}

/** Parses a cursor for `order`. `where` is its place in the request, such as `search_after`. */
export function parseCursor(
  value: JsonValue,
  order: readonly SortKey[],
  where: string,
): SortPosition {
  if (!isJsonArray(value)) return refuse(where, 'must be an array of strings, the _sort of a hit')
  const parts = value.map((part, index) => parsePart(part, `${where}[${index}]`))
  const place = parseKey(parts.at(-1) ?? '', order, where)
  if (parts.length !== order.length + 1) {
    refuse(where, `must hold ${order.length + 1} strings, as the _sort of a hit does`)
  }
  const values = parts.slice(0, -1).map((part, index) => decodeValue(part, `${where}[${index}]`))
  return { values, ...place }
}

function encodeValue(value: SortValue): string {
  if (value === undefined) return 'x'
  if (typeof value === 'object') return `n${value.decimal}`
  return typeof value === 'number' ? `n${value}` : `s${value}`
}

function decodeValue(text: string, where: string): SortValue {
  if (text === 'x') return undefined
  if (text.startsWith('s')) return text.slice(1)
  const isNumber = /^n-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Infinity)$/.test(text)
  if (!isNumber) return refuse(where, 'not a sort value: hand back the _sort of a hit')
  const decimal = text.slice(1)
  return isBeyondDoubles(decimal) ? { decimal } : Number(decimal)
}

function parsePart(part: JsonValue, where: string): string {
  if (typeof part !== 'string') return refuse(where, 'must be a string of the _sort of a hit')
  if (part.length <= VALUE_LENGTH_MAX) return part
  return refuse(where, `may have at most ${VALUE_LENGTH_MAX} characters`)
}

function parseKey(
  text: string,
  order: readonly SortKey[],
  where: string,
): Pick<SortPosition, 'key' | 'scoring'> {
  const [, digest, encoded = '', scoring] =
    /^k([0-9a-f]{8})\.([\w-]+)(?:\.([\w-]+))?$/.exec(text) ?? []
  if (digest === undefined) return refuse(where, 'not a cursor: hand back the _sort of a hit')
  if (digest !== digestOf(order)) {
    refuse(where, 'this cursor belongs to another order_by; begin again without a cursor')
  }
  const key = Buffer.from(encoded, 'base64url')
  const isWhole = key.toString('base64url') === encoded && key.length <= KEY_BYTES_MAX
  if (isWhole) return scoring === undefined ? { key } : { key, scoring }
  throw new ServiceError('INVALID_ARGUMENT', `${where}: damaged; hand back the _sort of a hit`)
}

function digestOf(order: readonly SortKey[]): string {
  const text = JSON.stringify(order.map(({ field, isDescending }) => [field, isDescending]))
  return hash('sha256', text).slice(0, DIGEST_LENGTH)
}
