import type { JsonObject, JsonValue } from '../../document/exact-json.ts'
import { isJsonArray, isJsonObject } from '../../document/json-object.ts'

/** Longer than any date, which is the longest text whose kind its characters tell. */
const TEXT_LENGTH_MAX = 64
const ELEMENTS_MAX = 64

/** Enough of a document to tell what its fields are, however long they are. */
export function sketchOf(document: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(document).map(([name, value]) => [name, sketch(value)]))
}

function sketch(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.slice(0, TEXT_LENGTH_MAX)
  if (isJsonArray(value)) return value.slice(0, ELEMENTS_MAX).map(sketch)
  return isJsonObject(value) ? sketchOf(value) : value
}
