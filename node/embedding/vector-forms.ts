// The forms in which clients write one vector: numbers, base64, or terms with weights.

import { ServiceError } from '../../lib/errors.ts'
import { numberOf, type JsonValue } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject } from '../document/json-object.ts'

/** A vector as a client wrote it. The terms of a sparse one ascend, each once. */
export type WrittenVector =
  | { readonly kind: 'dense'; readonly vector: Float32Array }
  | { readonly kind: 'sparse'; readonly terms: Uint32Array; readonly weights: Float32Array }

const TERM_MAX = 0xffff_ffff
const NUMBER_BYTES = 4
/** Base64 has padding to this many characters, which stand for so many bytes. */
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
  const { indices, values, packed_indices, packed_values, ...others } = value
  const isListed = indices !== undefined || values !== undefined
  const isPacked = packed_indices !== undefined || packed_values !== undefined
  if (!isListed && !isPacked) return weightsByTerm(value, where)
  const [unknown] = Object.keys(others)
  if (unknown !== undefined || (isListed && isPacked)) {
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
  for (const [at, one] of value.entries()) terms[at] = termOf(one, `${where}[${at}]`)
  return terms
}

function termOf(value: JsonValue, where: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= TERM_MAX) {
    return value
  }
  throw invalid(where, `must be a term id, an integer from 0 to ${TERM_MAX}`)
}

function weightsByTerm(members: Readonly<Record<string, JsonValue>>, where: string): WrittenVector {
  const names = Object.keys(members)
  const terms = new Uint32Array(names.length)
  for (const [at, name] of names.entries()) {
    if (!/^\d{1,10}$/.test(name)) throw invalid(where, `must be ${FORMS}`)
    terms[at] = termOf(Number(name), `${where}["${name}"]`)
  }
  return sorted(terms, floatsOf(Object.values(members), where), where)
}

function sorted(terms: Uint32Array, weights: Float32Array, where: string): WrittenVector {
  if (terms.length !== weights.length) {
    throw invalid(where, `has ${terms.length} term ids and ${weights.length} weights`)
  }
  const order = Uint32Array.from(terms.keys()).toSorted((a, b) => (terms[a] ?? 0) - (terms[b] ?? 0))
  const ascending = Uint32Array.from(order, (at) => terms[at] ?? 0)
  const twice = ascending.find((term, at) => at > 0 && ascending[at - 1] === term)
  if (twice !== undefined) throw invalid(where, `has the term id ${twice} twice`)
  return {
    kind: 'sparse',
    terms: ascending,
    weights: Float32Array.from(order, (at) => weights[at] ?? 0),
  }
}

function invalid(where: string, problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `${where} ${problem}`)
}
