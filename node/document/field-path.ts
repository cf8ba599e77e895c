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

/**
 * Every value at the path, however the dots divide it, because all of them are one field of an index. For an array
 * at its end, the elements are the values.
 */
export function valuesAt(document: JsonObject, path: FieldPath): readonly JsonValue[] {
  const found: JsonValue[] = []
  collect(document, path.segments, found)
  return found
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
  if (segments.length === 0) {
    found.push(value)
    return
  }
  if (!isJsonObject(value)) return
  for (let end = segments.length; end > 0; end -= 1) {
    const member = memberOf(value, segments.slice(0, end).join('.'))
    if (member !== undefined) collect(member, segments.slice(end), found)
  }
}
