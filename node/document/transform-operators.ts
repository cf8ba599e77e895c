// The twelve operators of transforms. Each works on one path of a document under change and touches
// nothing outside that path.

import type { Sliced } from '../../lib/sliced.ts'
import { kindName, jsonKindOf, type DocumentEditor, type Refuse } from './document-editor.ts'
import { parseExact, stringifyExact } from './exact-json.ts'
import { addNumbers, compareNumbers, isJsonNumber, multiplyNumbers } from './json-number.ts'
import { kindAt } from './json-scanner.ts'
import { OpenArray } from './open-array.ts'
import type { JsonNumber } from './json-number.ts'
import type { EditedValue } from './open-object.ts'

/** The input of one operator: where it works, on which value, and at which time. */
export interface OperatorInput {
  readonly editor: DocumentEditor
  readonly path: readonly string[]
  /** Compact JSON. */
  readonly value: Buffer
  readonly nowMs: number
  /** Ends the transform with an error, because the stored document does not allow the operation. */
  readonly refuse: Refuse
}

interface Operator {
  /** What the operator needs, as words for a message; undefined if `value` fits. */
  readonly problemOf: (value: Buffer | undefined) => string | undefined
  readonly apply: (input: OperatorInput) => Sliced<void>
}

export const TRANSFORM_OPERATORS = {
  $set: { problemOf: anyValue, apply: (to) => to.editor.put(to.path, to.value, to.refuse) },
  $unset: { problemOf: nothing, apply: (to) => to.editor.remove(to.path, to.refuse) },
  $inc: { problemOf: aNumber, apply: (to) => calculate(to, to.value, addNumbers) },
  $mul: { problemOf: aNumber, apply: (to) => calculate(to, ZERO, multiplyNumbers) },
  $min: {
    problemOf: aNumber,
    apply: (to) => calculate(to, to.value, (a, b) => (compareNumbers(b, a) < 0 ? b : a)),
  },
  $max: {
    problemOf: aNumber,
    apply: (to) => calculate(to, to.value, (a, b) => (compareNumbers(b, a) > 0 ? b : a)),
  },
  $push: { problemOf: anyValue, apply: push },
  $pull: { problemOf: anyValue, apply: (to) => changeArray(to, (array) => array.pull(to.value)) },
  $addToSet: { problemOf: anyValue, apply: addToSet },
  $pop: { problemOf: oneOrMinusOne, apply: pop },
  $currentDate: { problemOf: nothing, apply: putDate },
  $rename: { problemOf: aPath, apply: rename },
} as const satisfies Record<string, Operator>

export type TransformOperator = keyof typeof TRANSFORM_OPERATORS

const ZERO = Buffer.from('0')

/** The segments of an operation's path. A leading `$.` stands for the document. */
export function segmentsOf(path: string): readonly string[] {
  return (path.startsWith('$.') ? path.slice(2) : path).split('.')
}

/** The new path of a `$rename`. */
export function renamedPath(value: Buffer): readonly string[] {
  const path = parseExact(value)
  return segmentsOf(typeof path === 'string' ? path : '')
}

function anyValue(value: Buffer | undefined): string | undefined {
  return value === undefined ? 'a value' : undefined
}

function nothing(): undefined {
  return undefined
}

function aNumber(value: Buffer | undefined): string | undefined {
  return value !== undefined && kindAt(value, 0) === 'number' ? undefined : 'a number'
}

function oneOrMinusOne(value: Buffer | undefined): string | undefined {
  const number =
    value !== undefined && kindAt(value, 0) === 'number' ? parseExact(value) : undefined
  return number === 1 || number === -1
    ? undefined
    : '1 (the last element) or -1 (the first element)'
}

function aPath(value: Buffer | undefined): string | undefined {
  const isText = value !== undefined && kindAt(value, 0) === 'string'
  return isText ? undefined : 'the new path, a string'
}

function* calculate(
  to: OperatorInput,
  whenMissing: Buffer,
  compute: (current: JsonNumber, value: JsonNumber) => JsonNumber | undefined,
): Sliced<void> {
  const { editor, path, refuse } = to
  const current = yield* editor.valueAt(path, refuse)
  if (current !== undefined && jsonKindOf(current) !== 'number') {
    refuse(`found ${kindName(jsonKindOf(current))}, not number`)
  }
  const result =
    current === undefined ? whenMissing : resultText(compute(numberIn(current), numberIn(to.value)))
  yield* editor.put(path, result ?? refuse('the result is not a finite number'), refuse)
}

function resultText(result: JsonNumber | undefined): Buffer | undefined {
  return result === undefined ? undefined : Buffer.from(stringifyExact(result), 'utf8')
}

/** Reads a value whose kind was checked before. */
function numberIn(value: EditedValue): JsonNumber {
  const number = Buffer.isBuffer(value) ? parseExact(value) : undefined
  return isJsonNumber(number) ? number : NaN
}

/** Opens the array at the path. Answers undefined if the path has no value. */
function* openArrayAt({ editor, path, refuse }: OperatorInput): Sliced<OpenArray | undefined> {
  const current = yield* editor.valueAt(path, refuse)
  if (current === undefined || current instanceof OpenArray) return current
  const kind = jsonKindOf(current)
  if (kind !== 'array' || !Buffer.isBuffer(current)) {
    return refuse(`found ${kindName(kind)}, not array`)
  }
  const opened = new OpenArray(current)
  yield* editor.put(path, opened, refuse)
  return opened
}

function* ensureArrayAt(to: OperatorInput): Sliced<OpenArray> {
  const found = yield* openArrayAt(to)
  if (found !== undefined) return found
  const created = new OpenArray()
  yield* to.editor.put(to.path, created, to.refuse)
  return created
}

function* changeArray(to: OperatorInput, change: (array: OpenArray) => Sliced<void>): Sliced<void> {
  const array = yield* openArrayAt(to)
  if (array !== undefined) yield* change(array)
}

function* push(to: OperatorInput): Sliced<void> {
  const array = yield* ensureArrayAt(to)
  array.push(to.value)
}

function* addToSet(to: OperatorInput): Sliced<void> {
  const array = yield* ensureArrayAt(to)
  yield* array.add(to.value)
}

function* pop(to: OperatorInput): Sliced<void> {
  yield* changeArray(to, (array) => array.pop(parseExact(to.value) === 1 ? 'last' : 'first'))
}

function* putDate({ editor, path, nowMs, refuse }: OperatorInput): Sliced<void> {
  const date = JSON.stringify(new Date(nowMs).toISOString())
  yield* editor.put(path, Buffer.from(date, 'utf8'), refuse)
}

function* rename({ editor, path, value, refuse }: OperatorInput): Sliced<void> {
  const moved = yield* editor.valueAt(path, refuse)
  if (moved === undefined) return
  yield* editor.remove(path, refuse)
  yield* editor.put(renamedPath(value), moved, refuse)
}
