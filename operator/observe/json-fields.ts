// Fields of objects whose kind nobody has checked. What is absent, and what is of another type, is undefined.

import { isJsonRecord, isText, isWhole } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'

/** The value at the end of a path of names. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (isJsonRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined),
    value,
  )
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path)
  return isText(found) ? found : undefined
}

export function wholeAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path)
  return isWhole(found) ? found : undefined
}

/** The records of a list. */
export function recordsAt(value: unknown, ...path: readonly string[]): readonly JsonRecord[] {
  const found = valueAt(value, ...path)
  return Array.isArray(found) ? found.filter(isJsonRecord) : []
}

export function timeMsAt(value: unknown, ...path: readonly string[]): number | undefined {
  const ms = Date.parse(textAt(value, ...path) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

/** A time that cannot be read counts as one that has not come: nobody is hurried by it. */
export const NOT_YET_MS = 8_640_000_000_000_000

/** The condition of this type, if the status of the object has it. */
export function conditionAt(object: unknown, type: string): JsonRecord | undefined {
  return recordsAt(object, 'status', 'conditions').find((condition) => condition['type'] === type)
}
