// The forms in which clients write one vector: numbers, base64, or terms with weights.

import { assert } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import { numberOf, type JsonValue } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject } from '../document/json-object.ts'

/** A vector as a client wrote it. The terms of a sparse one ascend, each once. */
export type WrittenVector =
  | { readonly kind: 'dense'; readonly vector: Float32Array }
  | { readonly kind: 'sparse'; readonly terms: Uint32Array; readonly weights: Float32Array }

const TERM_MAX = 0xffff_ffff
const FORM_MEMBERS = ['indices', 'values', 'packed_indices', 'packed_values']
const TERM_NAME = /^\d{1,10}$/
/** Beside a term of 32 bits a double has 21 bits for a place. Texts of vectors are shorter than 2^21 characters. */
const PLACES_MAX = 2 ** 21
const NUMBER_BYTES = 4
/** Base64 has padding to four characters, which stand for three bytes. */
const QUAD = 4
const QUAD_BYTES = 3
const FORMS =
  'an array of numbers, base64 of little-endian float32, {"indices": [...], "values": [...]}, ' +
  '{"packed_indices": "...", "packed_values": "..."} or {"<term id>": weight}'

/**
 * Reads one vector in any of its forms. INVALID_ARGUMENT names `where` and what is wrong with it: an
 * unknown form, a number that is not finite as a float32, bytes that are not whole numbers, a term twice.
 */
export function parseVector(value: JsonValue, where: string): WrittenVector {
  if (isJsonArray(value)) return { kind: 'dense', vector: floatsOf(value, where) }
  if (typeof value === 'string') return { kind: 'dense', vector: packedFloats(value, where) }
  if (!isJsonObject(value)) throw invalid(where, `must be ${FORMS}`)
  const names = FORM_MEMBERS.filter((name) => Object.hasOwn(value, name))
  if (names.length === 0) return weightsByTerm(value, where)
  const { indices, values, packed_indices, packed_values } = value
  const isListed = indices !== undefined || values !== undefined
  const isPacked = packed_indices !== undefined || packed_values !== undefined
  if (Object.keys(value).length > names.length || (isListed && isPacked)) {
    throw invalid(where, `must be ${FORMS}; it has members of several forms`)
  }
  return isListed
    ? sorted(termsOf(indices, `${where}.indices`), listOf(values, `${where}.values`), where)
    : sorted(
        packedTerms(packed_indices, `${where}.packed_indices`),
        packedFloats(packed_values, `${where}.packed_values`),
        where,
      )
}

function listOf(value: JsonValue | undefined, where: string): Float32Array {
  if (value === undefined || !isJsonArray(value)) {
    throw invalid(where, 'must be an array of numbers')
  }
  return floatsOf(value, where)
}

function floatsOf(values: readonly JsonValue[], where: string): Float32Array {
  const floats = new Float32Array(values.length)
  for (let at = 0; at < values.length; at++) {
    const value = values[at]
    const number = typeof value === 'number' ? value : numberOf(value)
    if (number === undefined) throw invalid(`${where}[${at}]`, 'must be a number')
    floats[at] = number
  }
  return checkFinite(floats, where)
}

function checkFinite(floats: Float32Array, where: string): Float32Array {
  for (let at = 0; at < floats.length; at += 1) {
    if (Number.isFinite(floats[at])) continue
    throw invalid(`${where}[${at}]`, 'must be a finite number that fits into a float32')
  }
  return floats
}

function packedFloats(value: JsonValue | undefined, where: string): Float32Array {
  const bytes = bytesOf(value, where)
  return checkFinite(new Float32Array(bytes.buffer, 0, bytes.length / NUMBER_BYTES), where)
}

function packedTerms(value: JsonValue | undefined, where: string): Uint32Array {
  const bytes = bytesOf(value, where)
  return new Uint32Array(bytes.buffer, 0, bytes.length / NUMBER_BYTES)
}

/** The bytes of whole numbers, at the start of their buffer. */
function bytesOf(value: JsonValue | undefined, where: string): Uint8Array<ArrayBuffer> {
  const bytes = typeof value === 'string' ? base64Bytes(value) : undefined
  if (bytes === undefined) {
    throw invalid(where, 'must be base64 of little-endian numbers of 4 bytes, with its padding')
  }
  if (bytes.length % NUMBER_BYTES === 0) return bytes
  throw invalid(where, `has ${bytes.length} bytes, which are not whole numbers of 4 bytes`)
}

/**
 * Undefined for what is not base64 with its padding. The decoder leaves out what it does not know, so that there are
 * fewer bytes than there should be; but it takes the letters of base64url, too.
 */
function base64Bytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % QUAD !== 0 || text.includes('-') || text.includes('_')) return undefined
  const bytes = new Uint8Array((text.length / QUAD) * QUAD_BYTES - paddingOf(text))
  const written = Buffer.from(bytes.buffer).write(text, 'base64')
  return written === bytes.length ? bytes : undefined
}

function paddingOf(text: string): number {
  if (!text.endsWith('=')) return 0
  return text.endsWith('==') ? 2 : 1
}

function termsOf(value: JsonValue | undefined, where: string): Uint32Array {
  if (value === undefined || !isJsonArray(value)) {
    throw invalid(where, 'must be an array of term ids')
  }
  const terms = new Uint32Array(value.length)
  for (let at = 0; at < value.length; at++) {
    const term = value[at]
    if (!isTerm(term)) throw noTerm(`${where}[${at}]`)
    terms[at] = term
  }
  return terms
}

function isTerm(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= TERM_MAX
}

function noTerm(where: string): ServiceError {
  return invalid(where, `must be a term id, an integer from 0 to ${TERM_MAX}`)
}

function weightsByTerm(members: Readonly<Record<string, JsonValue>>, where: string): WrittenVector {
  const names = Object.keys(members)
  const terms = new Uint32Array(names.length)
  const weights: JsonValue[] = []
  for (const [at, name] of names.entries()) {
    if (!TERM_NAME.test(name)) throw invalid(where, `must be ${FORMS}`)
    const term = Number(name)
    if (!isTerm(term)) throw noTerm(`${where}["${name}"]`)
    terms[at] = term
    weights.push(members[name] ?? null)
  }
  return sorted(terms, floatsOf(weights, where), where)
}

function sorted(terms: Uint32Array, weights: Float32Array, where: string): WrittenVector {
  if (terms.length !== weights.length) {
    throw invalid(where, `has ${terms.length} term ids and ${weights.length} weights`)
  }
  if (isAscending(terms)) return { kind: 'sparse', terms, weights }
  const order = orderOf(terms)
  const ascending = {
    terms: new Uint32Array(terms.length),
    weights: new Float32Array(terms.length),
  }
  for (let at = 0; at < order.length; at++) {
    const from = (order[at] ?? 0) % PLACES_MAX
    const term = terms[from] ?? 0
    if (at > 0 && ascending.terms[at - 1] === term) {
      throw invalid(where, `has the term id ${term} twice`)
    }
    ascending.terms[at] = term
    ascending.weights[at] = weights[from] ?? 0
  }
  return { kind: 'sparse', ...ascending }
}

/** Each term once, as most clients write them. */
function isAscending(terms: Uint32Array): boolean {
  for (let at = 1; at < terms.length; at++) {
    if ((terms[at] ?? 0) <= (terms[at - 1] ?? 0)) return false
  }
  return true
}

/** Terms with their places behind them, which both fit into a double: numbers are sorted faster than by a function. */
function orderOf(terms: Uint32Array): Float64Array {
  assert(terms.length <= PLACES_MAX, 'a vector has fewer terms than a double has room for')
  const placed = new Float64Array(terms.length)
  for (let at = 0; at < terms.length; at++) placed[at] = (terms[at] ?? 0) * PLACES_MAX + at
  return placed.toSorted()
}

function invalid(where: string, problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `${where} ${problem}`)
}
