// The JSON text of a query. Numbers keep their digits (exact-json.ts), because a filter compares them to the last one.
// The numbers of vectors become doubles at once: indexes have 32-bit floats, and each of some hundred numbers with
// many digits would cost as much as another member of the query.

import {
  mayLoseDigits,
  parseDoubles,
  parseExact,
  type JsonObject,
  type JsonValue,
} from '../../document/exact-json.ts'
import { isJsonObject } from '../../document/json-object.ts'

const VECTORS = 'embeddings'
/** A list of nothing but numbers, or a part of a string that looks like one. */
const NUMBER_LISTS = /\[[\d\s.,eE+-]*\]/g

/** INVALID_ARGUMENT for what is not JSON. */
export function parseQueryText(text: Buffer): JsonValue {
  const source = text.toString('utf8')
  if (!mayLoseDigits(source)) return parseDoubles(source)
  if (mayLoseDigits(source.replace(NUMBER_LISTS, '[]'))) return parseExact(source)
  // All numbers of many digits are in lists: if the vectors alone have lists of numbers, no other number is concerned.
  const value = parseDoubles(source)
  return isJsonObject(value) && !hasNumberLists(value) ? value : parseExact(source)
}

/** Whether there are lists of numbers beside the vectors. A text may be as deep as it is long: no recursion. */
function hasNumberLists(query: JsonObject): boolean {
  const values = Object.entries(query).flatMap(([name, value]) => (name === VECTORS ? [] : [value]))
  for (let value = values.pop(); value !== undefined; value = values.pop()) {
    if (typeof value !== 'object' || value === null) continue
    if (Array.isArray(value) && typeof value[0] === 'number') return true
    for (const member of Object.values(value)) values.push(member)
  }
  return false
}
