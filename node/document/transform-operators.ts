// The twelve operators of transforms. Each works on a path of object members and returns a new
// document; nothing given to it is changed.

import { describeKind } from './exact-json.ts'
import { addNumbers, compareNumbers, isJsonNumber, multiplyNumbers } from './json-number.ts'
import { isJsonArray, isJsonObject, memberOf, withMember, withoutMember } from './json-object.ts'
import { sameValue } from './canonical-json.ts'
import type { JsonArray, JsonObject, JsonValue } from './exact-json.ts'
import type { JsonNumber } from './json-number.ts'

interface Application {
  readonly document: JsonObject
  readonly path: readonly string[]
  readonly value: JsonValue
  readonly nowMs: number
  /** Ends the transform: the stored document does not allow the operation. */
  readonly refuse: (problem: string) => never
}

interface Operator {
  /** What the operator needs, if `value` is not that. */
  readonly problemOf: (value: JsonValue | undefined) => string | undefined
  readonly apply: (application: Application) => JsonObject
}

type Change = (current: JsonValue | undefined) => JsonValue | undefined

export const TRANSFORM_OPERATORS = {
  $set: { problemOf: anyValue, apply: (to) => update(to, () => to.value) },
  $unset: { problemOf: nothing, apply: (to) => update(to, () => undefined) },
  $inc: { problemOf: aNumber, apply: (to) => calculate(to, to.value, addNumbers) },
  $mul: { problemOf: aNumber, apply: (to) => calculate(to, 0, multiplyNumbers) },
  $min: {
    problemOf: aNumber,
    apply: (to) => calculate(to, to.value, (a, b) => (compareNumbers(b, a) < 0 ? b : a)),
  },
  $max: {
    problemOf: aNumber,
    apply: (to) => calculate(to, to.value, (a, b) => (compareNumbers(b, a) > 0 ? b : a)),
  },
  $push: { problemOf: anyValue, apply: (to) => updateArray(to, (all) => [...all, to.value]) },
  $pull: {
    problemOf: anyValue,
    apply: (to) =>
      updateExistingArray(to, (all) => all.filter((element) => !sameValue(element, to.value))),
  },
  $addToSet: {
    problemOf: anyValue,
    apply: (to) =>
      updateArray(to, (all) =>
        all.some((element) => sameValue(element, to.value)) ? all : [...all, to.value],
      ),
  },
  $pop: {
    problemOf: oneOrMinusOne,
    apply: (to) =>
      updateExistingArray(to, (all) => (to.value === 1 ? all.slice(0, -1) : all.slice(1))),
  },
  $currentDate: {
    problemOf: nothing,
    apply: (to) => update(to, () => new Date(to.nowMs).toISOString()),
  },
  $rename: { problemOf: aPath, apply: rename },
} as const satisfies Record<string, Operator>

export type TransformOperator = keyof typeof TRANSFORM_OPERATORS

function anyValue(value: JsonValue | undefined): string | undefined {
  return value === undefined ? 'a value' : undefined
}

function nothing(): undefined {
  return undefined
}

function aNumber(value: JsonValue | undefined): string | undefined {
  return isJsonNumber(value) ? undefined : 'a number'
}

function oneOrMinusOne(value: JsonValue | undefined): string | undefined {
  return value === 1 || value === -1 ? undefined : '1 (the last element) or -1 (the first element)'
}

function aPath(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? undefined : 'the new path, a string'
}

/** `change` gets the value at the path and returns the new one; undefined stands for no member. */
function update(to: Application, change: Change): JsonObject {
  const [first, ...rest] = to.path
  return first === undefined ? to.document : updateMember(to, [first, ...rest], change)
}

function updateMember(
  to: Application,
  [name, ...rest]: readonly [string, ...string[]],
  change: Change,
): JsonObject {
  const { document } = to
  const current = memberOf(document, name)
  const [next, ...others] = rest
  if (next === undefined) return replaced(document, name, change(current))
  if (current !== undefined && !isJsonObject(current)) {
    return to.refuse(`"${name}" is of type ${describeKind(current)}, not object`)
  }
  const inner = updateMember({ ...to, document: current ?? {} }, [next, ...others], change)
  // Removing what is not there must not create its parents.
  const unchanged = current === undefined && Object.keys(inner).length === 0
  return unchanged ? document : withMember(document, name, inner)
}

function replaced(document: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? withoutMember(document, name) : withMember(document, name, value)
}

function calculate(
  to: Application,
  whenMissing: JsonValue,
  compute: (current: JsonNumber, value: JsonNumber) => JsonNumber | undefined,
): JsonObject {
  return update(to, (current) => {
    if (current === undefined) return whenMissing
    if (!isJsonNumber(current)) return to.refuse(`found ${describeKind(current)}, not number`)
    if (!isJsonNumber(to.value)) return current
    return compute(current, to.value) ?? to.refuse('the result is not a finite number')
  })
}

function updateArray(to: Application, change: (elements: JsonArray) => JsonArray): JsonObject {
  return update(to, (current = []) => {
    if (!isJsonArray(current)) return to.refuse(`found ${describeKind(current)}, not array`)
    return change(current)
  })
}

function updateExistingArray(
  to: Application,
  change: (elements: JsonArray) => JsonArray,
): JsonObject {
  return update(to, (current) => {
    if (current === undefined) return undefined
    if (!isJsonArray(current)) return to.refuse(`found ${describeKind(current)}, not array`)
    return change(current)
  })
}

function rename(to: Application): JsonObject {
  if (typeof to.value !== 'string') return to.document
  let moved: JsonValue | undefined
  const without = update(to, (current) => {
    moved = current
    return undefined
  })
  if (moved === undefined) return to.document
  const text = to.value.startsWith('$.') ? to.value.slice(2) : to.value
  return update({ ...to, document: without, path: text.split('.') }, () => moved)
}
