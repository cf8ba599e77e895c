// Reads and copies JSON objects whose member names come from clients.
//
// An inherited name (`constructor`) is never read as a member. A member called `__proto__` is
// always written as own data, because the copies below define properties and do not assign them.

import { isRawNumber } from './exact-json.ts'
import type { JsonArray, JsonObject, JsonValue } from './exact-json.ts'

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}

export function isJsonArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value)
}

export function memberOf(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** A copy in which `name` holds `value`; an existing member keeps its place. */
export function withMember(object: JsonObject, name: string, value: JsonValue): JsonObject {
  return buildObject([...Object.entries(object), [name, value]])
}

export function withoutMember(object: JsonObject, name: string): JsonObject {
  if (!Object.hasOwn(object, name)) return object
  return buildObject(Object.entries(object).filter(([other]) => other !== name))
}

/**
 * Builds an object. `Object.fromEntries` creates data properties, also for `__proto__`. The last
 * value of a repeated name counts.
 */
export function buildObject(members: Iterable<readonly [string, JsonValue]>): JsonObject {
  return Object.fromEntries(members)
}
