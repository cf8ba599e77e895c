// The meaning of transforms on whole values: slow and plain, for comparison with the code that
// edits the text.

import { sameValue } from '../../../node/document/canonical-json.ts'
import {
  addNumbers,
  compareNumbers,
  isJsonNumber,
  multiplyNumbers,
} from '../../../node/document/json-number.ts'
import {
  buildObject,
  isJsonArray,
  isJsonObject,
  memberOf,
} from '../../../node/document/json-object.ts'
import type { JsonArray, JsonObject, JsonValue } from '../../../node/document/exact-json.ts'
import type { JsonNumber } from '../../../node/document/json-number.ts'
import type { TransformOperator } from '../../../node/document/transform-operators.ts'

export interface ModelOperation {
  readonly op: TransformOperator
  readonly path: string
  readonly value?: JsonValue
}

type Change = (current: JsonValue | undefined) => JsonValue | undefined

export class Misfit extends Error {}

/** Throws Misfit when an operation does not fit the document. */
export function transformed(
  document: JsonObject,
  operations: readonly ModelOperation[],
): JsonObject {
  return operations.reduce(applied, document)
}

function applied(document: JsonObject, { op, path, value = null }: ModelOperation): JsonObject {
  const segments = path.split('.')
  if (op !== '$rename') return updated(document, segments, changeOf(op, value))
  let moved: JsonValue | undefined
  const without = updated(document, segments, (current) => {
    moved = current
    return undefined
  })
  if (moved === undefined || typeof value !== 'string') return document
  return updated(without, value.split('.'), () => moved)
}

function changeOf(op: Exclude<TransformOperator, '$rename'>, value: JsonValue): Change {
  const changes: Record<typeof op, Change> = {
    $set: () => value,
    $unset: () => undefined,
    $currentDate: () => '1970-01-01T00:00:00.000Z',
    $inc: onNumber(value, value, addNumbers),
    $mul: onNumber(0, value, multiplyNumbers),
    $min: onNumber(value, value, (a, b) => (compareNumbers(b, a) < 0 ? b : a)),
    $max: onNumber(value, value, (a, b) => (compareNumbers(b, a) > 0 ? b : a)),
    $push: onArray((all) => [...all, value], []),
    $pull: onArray((all) => all.filter((element) => !sameValue(element, value))),
    $addToSet: onArray((all) => (all.some((e) => sameValue(e, value)) ? all : [...all, value]), []),
    $pop: onArray((all) => (value === 1 ? all.slice(0, -1) : all.slice(1))),
  }
  return changes[op]
}

function updated(document: JsonObject, path: readonly string[], change: Change): JsonObject {
  const [name = '', ...rest] = path
  const current = memberOf(document, name)
  if (rest.length === 0) return withMember(document, name, change(current))
  if (current !== undefined && !isJsonObject(current)) throw new Misfit()
  const inner = updated(current ?? {}, rest, change)
  if (current === undefined && Object.keys(inner).length === 0) return document
  return withMember(document, name, inner)
}

function withMember(document: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return buildObject([...Object.entries(document), [name, value]])
  return buildObject(Object.entries(document).filter(([other]) => other !== name))
}

function onNumber(
  whenMissing: JsonValue,
  value: JsonValue,
  compute: (current: JsonNumber, value: JsonNumber) => JsonNumber | undefined,
): Change {
  return (current) => {
    if (current === undefined) return whenMissing
    const result =
      isJsonNumber(current) && isJsonNumber(value) ? compute(current, value) : undefined
    if (result === undefined) throw new Misfit()
    return result
  }
}

function onArray(change: (all: JsonArray) => JsonArray, whenMissing?: JsonArray): Change {
  return (current = whenMissing) => {
    if (current === undefined) return undefined
    if (!isJsonArray(current)) throw new Misfit()
    return change(current)
  }
}
