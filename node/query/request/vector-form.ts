// The forms in which clients write a vector: numbers, base64 of little-endian floats, or the terms and
// weights of a sparse one, plain or packed.

import { numberOf, type JsonObject, type JsonValue } from '../../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from '../../document/json-object.ts'
import { refuse } from '../query-limits.ts'

/** A vector as it was sent: finite numbers, at least one. */
export type SentVector =
  | { readonly kind: 'dense'; readonly vector: Float32Array }
  | { readonly kind: 'sparse'; readonly terms: Uint32Array; readonly weights: Float32Array }

/** The most numbers of a dense vector, and the most terms of a sparse one. */
const NUMBERS_MAX = 16_384
const WIDTH = 4
const FORMS =
  'an array of numbers, base64 of little-endian float32, {"indices", "values"} or ' +
  '{"packed_indices", "packed_values"}'

/** Throws INVALID_ARGUMENT. `where` is the vector's place in the request. */
export function parseVectorForm(value: JsonValue, where: string): SentVector {
  if (isJsonArray(value)) return { kind: 'dense', vector: parseFloats(value, where) }
  if (typeof value === 'string') return { kind: 'dense', vector: unpackFloats(value, where) }
  if (!isJsonObject(value)) return refuse(where, `must be ${FORMS}`)
  const sparse = parseSparse(value, where)
  if (sparse.terms.length === sparse.weights.length) return sparse
  return refuse(where, `has ${sparse.terms.length} terms and ${sparse.weights.length} weights`)
}

function parseSparse(members: JsonObject, where: string): SentVector & { readonly kind: 'sparse' } {
  const names = Object.keys(members).toSorted().join()
  if (names === 'indices,values') {
    const terms = parseTerms(listAt(members, 'indices', where), `${where}.indices`)
    const weights = parseFloats(listAt(members, 'values', where), `${where}.values`)
    return { kind: 'sparse', terms, weights }
  }
  if (names !== 'packed_indices,packed_values') return refuse(where, `must be ${FORMS}`)
  const bytes = unpack(memberOf(members, 'packed_indices'), `${where}.packed_indices`)
  const place = `${where}.packed_values`
  return {
    kind: 'sparse',
    terms: new Uint32Array(bytes),
    weights: checkFinite(
      new Float32Array(unpack(memberOf(members, 'packed_values'), place)),
      place,
    ),
  }
}

function listAt(members: JsonObject, name: string, where: string): readonly JsonValue[] {
  const list = memberOf(members, name)
  return isJsonArray(list) ? list : refuse(`${where}.${name}`, 'must be an array of numbers')
}

function parseFloats(list: readonly JsonValue[], where: string): Float32Array {
  checkCount(list.length, where)
  const floats = Float32Array.from(list, (one, i) => {
    const number = numberOf(one)
    return number ?? refuse(`${where}[${i}]`, 'must be a number')
  })
  return checkFinite(floats, where)
}

function parseTerms(list: readonly JsonValue[], where: string): Uint32Array {
  checkCount(list.length, where)
  return Uint32Array.from(list, (one, i) => {
    const isTerm = typeof one === 'number' && Number.isInteger(one) && one >= 0 && one < 2 ** 32
    return isTerm ? one : refuse(`${where}[${i}]`, 'must be an integer from 0 to 4294967295')
  })
}

function unpackFloats(text: string, where: string): Float32Array {
  return checkFinite(new Float32Array(unpack(text, where)), where)
}

/** Whole elements of four bytes. */
function unpack(text: JsonValue | undefined, where: string): ArrayBuffer {
  if (typeof text !== 'string') return refuse(where, 'must be base64 of little-endian elements')
  const bytes = Buffer.from(text, 'base64')
  const padded = bytes.toString('base64')
  if (text !== padded && text !== padded.replaceAll('=', '')) refuse(where, 'must be base64')
  if (bytes.length % WIDTH !== 0) {
    refuse(where, `has ${bytes.length} bytes, which are no whole elements of four bytes`)
  }
  checkCount(bytes.length / WIDTH, where)
  return new Uint8Array(bytes).buffer
}

function checkCount(count: number, where: string): void {
  if (count === 0) refuse(where, 'must have at least one number')
  if (count > NUMBERS_MAX) refuse(where, `may have at most ${NUMBERS_MAX} numbers, not ${count}`)
}

function checkFinite(floats: Float32Array, where: string): Float32Array {
  const at = floats.findIndex((one) => !Number.isFinite(one))
  if (at < 0) return floats
  return refuse(`${where}[${at}]`, 'must be finite and within the range of a float32')
}
