// Compares JSON by its meaning. The order of members and the spelling of numbers do not matter.

import type { Sliced } from '../../lib/sliced.ts'
import { digestWithout } from './canonical-digest.ts'
import { isRawNumber, parseExact } from './exact-json.ts'
import { isJsonArray, isJsonObject, memberOf, withoutMember } from './json-object.ts'
import { compareNumbers, isJsonNumber } from './json-number.ts'
import type { JsonNumber } from './json-number.ts'
import type { JsonArray, JsonObject, JsonValue } from './exact-json.ts'

const TIMESTAMP_FIELD = '_timestamp'
/** Two documents of this length or less are parsed and compared in one step. */
const SMALL_BYTES_MAX = 32 * 1024

/** Whether two stored documents are equal when their own `_timestamp` is left out. */
export function sameContent(left: Buffer, right: Buffer): boolean {
  return left.equals(right) || sameValue(contentOf(left), contentOf(right))
}

/** Compares as `sameContent` does, in steps, for documents of any size. */
export function* isSameContent(left: Buffer, right: Buffer): Sliced<boolean> {
  if (left.equals(right)) return true
  if (left.length + right.length <= SMALL_BYTES_MAX) return sameContent(left, right)
  const digest = yield* digestWithout(left, TIMESTAMP_FIELD)
  yield
  return digest === (yield* digestWithout(right, TIMESTAMP_FIELD))
}

export function sameValue(left: JsonValue, right: JsonValue): boolean {
  if (left === right) return true
  if (isJsonNumber(left)) return isJsonNumber(right) && sameNumber(left, right)
  if (isJsonArray(left)) return isJsonArray(right) && sameElements(left, right)
  return isJsonObject(left) && isJsonObject(right) && sameMembers(left, right)
}

function contentOf(json: Buffer): JsonValue {
  const document = parseExact(json)
  return isJsonObject(document) ? withoutMember(document, TIMESTAMP_FIELD) : document
}

function sameNumber(left: JsonNumber, right: JsonNumber): boolean {
  if (isRawNumber(left) && isRawNumber(right) && left.rawJSON === right.rawJSON) return true
  return isExact(left) && isExact(right) && compareNumbers(left, right) === 0
}

/** A raw fraction has more digits than a double, so it equals only its own text. */
function isExact(value: JsonNumber): boolean {
  return !isRawNumber(value) || /^-?\d+$/.test(value.rawJSON)
}

function sameElements(left: JsonArray, right: JsonArray): boolean {
  if (left.length !== right.length) return false
  return left.every((element, index) => {
    const other = right[index]
    return other !== undefined && sameValue(element, other)
  })
}

function sameMembers(left: JsonObject, right: JsonObject): boolean {
  const members = Object.entries(left)
  if (members.length !== Object.keys(right).length) return false
  return members.every(([name, value]) => {
    const other = memberOf(right, name)
    return other !== undefined && sameValue(value, other)
  })
}
