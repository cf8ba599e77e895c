// Reads and copies JSON objects whose member names come from clients.
//
// An inherited name (`constructor`) is never read as a member. A member called `__proto__` is
// always written as own data, because the copies below define properties and do not assign them.

import type { Sliced } from '../../lib/sliced.ts'
import { isRawNumber } from './exact-json.ts'
import type { JsonArray, JsonObject, JsonValue } from './exact-json.ts'

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}

export function isJsonArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value)
}

/** Objects with more members are known here with their names: V8 lists a million names in one step of 300 ms. */
const LISTED_MEMBERS_MIN = 4096
const listedNames = new WeakMap<JsonObject, readonly string[]>()

/** The names of the members, in the order of `Object.keys`. */
export function namesOf(object: JsonObject): readonly string[] {
  return listedNames.get(object) ?? Object.keys(object)
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

const ARRAY_INDEX = /^(?:0|[1-9]\d{0,9})$/
const ARRAY_INDEX_MAX = 2 ** 32 - 2
const NAMES_PER_STEP = 8192

/**
 * Builds an object member by member, as `buildObject` does at once. Its longest step is where V8 makes room for twice
 * as many members: 20 ms at 200,000 of them.
 */
export class ObjectBuilder {
  readonly #object: Record<string, JsonValue> = {}
  readonly #names: string[] = []
  readonly #indexes: number[] = []

  get memberCount(): number {
    return this.#names.length + this.#indexes.length
  }

  add(name: string, value: JsonValue): void {
    if (!Object.hasOwn(this.#object, name)) this.#list(name)
    if (name !== '__proto__') this.#object[name] = value
    else {
      const attributes = { value, configurable: true, enumerable: true, writable: true }
      Object.defineProperty(this.#object, name, attributes)
    }
  }

  *finish(): Sliced<JsonObject> {
    if (this.memberCount < LISTED_MEMBERS_MIN) return this.#object
    const names: string[] = []
    for (const index of Uint32Array.from(this.#indexes).toSorted()) {
      names.push(String(index))
      if (names.length % NAMES_PER_STEP === 0) yield
    }
    for (const name of this.#names) {
      names.push(name)
      if (names.length % NAMES_PER_STEP === 0) yield
    }
    listedNames.set(this.#object, names)
    return this.#object
  }

  /** JavaScript lists names that are indexes first, by their size. */
  #list(name: string): void {
    const index = ARRAY_INDEX.test(name) ? Number(name) : Infinity
    if (index <= ARRAY_INDEX_MAX) this.#indexes.push(index)
    else this.#names.push(name)
  }
}
