// How values become text in the output.

import { isRawNumber } from '../document/exact-json.ts'
import type { JsonArray, JsonObject, JsonValue } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf, namesOf } from '../document/json-object.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { renderError } from './template-error.ts'
import type { BoundedText, RenderBudget } from './render-budget.ts'
import type { TemplateValue } from './template.ts'

/** Values within values: all that walks a value recurses. */
const VALUE_DEPTH_MAX = 100

export function checkDepth(depth: number): void {
  if (depth <= VALUE_DEPTH_MAX) return
  throw renderError(`a value that is written nests deeper than ${VALUE_DEPTH_MAX} levels`)
}

/** The text of a scalar; nothing for null and for what is not there. Undefined for lists and objects. */
export function scalarText(value: TemplateValue): string | undefined {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return isRawNumber(value) ? value.rawJSON : undefined
}

interface Writer {
  readonly budget: RenderBudget
  readonly out: BoundedText
}

/**
 * Writes a value as `{{value}}` does: scalars as their text, the elements of a list with commas
 * between them, objects as JSON.
 */
export function* writeValue(value: TemplateValue, writer: Writer, depth = 0): Sliced<void> {
  const text = scalarText(value)
  if (text !== undefined) {
    writer.out.add(text)
    if (writer.budget.spendOnText(text.length)) yield
    return
  }
  if (writer.budget.spend()) yield
  if (isJsonArray(value)) yield* writeElements(value, writer, depth)
  else yield* writeJson(value ?? null, writer, depth)
}

function* writeElements(list: JsonArray, writer: Writer, depth: number): Sliced<void> {
  checkDepth(depth)
  for (const [at, element] of list.entries()) {
    if (at > 0) writer.out.add(',')
    yield* writeValue(element, writer, depth + 1)
  }
}

function* writeJson(value: JsonValue, writer: Writer, depth: number): Sliced<void> {
  const { budget, out } = writer
  if (typeof value === 'string') {
    if (budget.spendOnText(value.length)) yield
    // A text that is too long without quotes is too long with them.
    out.add(value.length > budget.limits.outputBytesMax ? value : JSON.stringify(value))
    return
  }
  if (budget.spend()) yield
  if (isJsonArray(value)) yield* writeList(value, writer, depth)
  else if (isJsonObject(value)) yield* writeMembers(value, writer, depth)
  else out.add(value === null ? 'null' : (scalarText(value) ?? ''))
}

function* writeList(list: JsonArray, writer: Writer, depth: number): Sliced<void> {
  checkDepth(depth)
  writer.out.add('[')
  for (const [at, element] of list.entries()) {
    if (at > 0) writer.out.add(',')
    yield* writeJson(element, writer, depth + 1)
  }
  writer.out.add(']')
}

function* writeMembers(object: JsonObject, writer: Writer, depth: number): Sliced<void> {
  const { budget, out } = writer
  checkDepth(depth)
  out.add('{')
  for (const [at, name] of namesOf(object).entries()) {
    if (budget.spendOnText(name.length)) yield
    if (at > 0) out.add(',')
    out.add(`${JSON.stringify(name)}:`)
    yield* writeJson(memberOf(object, name) ?? null, writer, depth + 1)
  }
  out.add('}')
}
