// Dotted paths into documents, such as `a.b.c`. A path looks into the arrays on its way, so
// `items.name` means the name of every item.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonArray, isJsonObject, memberOf } from './json-object.ts'
import type { JsonObject, JsonValue } from './exact-json.ts'

const FIELD_PATH_LENGTH_MAX = 1024

/** A parsed path. Its segments are not empty. */
export interface FieldPath {
  /** As the client wrote it. A top-level member of exactly this name has precedence. */
  readonly text: string
  readonly segments: readonly string[]
}

/** `where` names the request field that holds the path, for messages. */
export function parseFieldPath(text: string, where: string): FieldPath {
  if (text.length > FIELD_PATH_LENGTH_MAX) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `${where}: a path may have at most ${FIELD_PATH_LENGTH_MAX} characters, not ${text.length}`,
    )
  }
  const segments = text.split('.')
  if (segments.includes('')) {
    throw new ServiceError('INVALID_ARGUMENT', `${where}: empty segment in path "${text}"`)
  }
  return { text, segments }
}

/** Every value at the path. For an array at its end, the elements are the values. */
export function valuesAt(document: JsonObject, path: FieldPath): readonly JsonValue[] {
  const literal = memberOf(document, path.text)
  const found: JsonValue[] = []
  if (literal !== undefined) collect(literal, [], found)
  else collect(document, path.segments, found)
  return found
}

/** Every value at the path. An array at its end is one value. */
export function wholeValuesAt(document: JsonObject, path: FieldPath): readonly JsonValue[] {
  const literal = memberOf(document, path.text)
  const found: JsonValue[] = []
  if (literal === undefined) collectWhole(document, path.segments, found)
  return literal === undefined ? found : [literal]
}

/** The one value at the path. Arrays on the way are not searched. */
export function valueAt(document: JsonObject, path: FieldPath): JsonValue | undefined {
  const literal = memberOf(document, path.text)
  if (literal !== undefined) return literal
  let value: JsonValue | undefined = document
  for (const segment of path.segments) {
    value = isJsonObject(value) ? memberOf(value, segment) : undefined
  }
  return value
}

function collect(value: JsonValue, segments: readonly string[], found: JsonValue[]): void {
  if (isJsonArray(value)) {
    for (const element of value) collect(element, segments, found)
    return
  }
  const [name, ...rest] = segments
  if (name === undefined) {
    found.push(value)
    return
  }
  const member = isJsonObject(value) ? memberOf(value, name) : undefined
  if (member !== undefined) collect(member, rest, found)
}

function collectWhole(value: JsonValue, segments: readonly string[], found: JsonValue[]): void {
  const [name, ...rest] = segments
  if (name === undefined) {
    found.push(value)
  } else if (isJsonArray(value)) {
    for (const element of value) collectWhole(element, segments, found)
  } else {
    const member = isJsonObject(value) ? memberOf(value, name) : undefined
    if (member !== undefined) collectWhole(member, rest, found)
  }
}
