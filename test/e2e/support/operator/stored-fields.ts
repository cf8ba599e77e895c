// Fields of objects, of which tests know what they are.

import { isJsonRecord, isText } from '../../../../lib/json-record.ts'
import type { JsonRecord } from '../../../../lib/json-record.ts'
import type { StoredObject } from '../../../../operator/runtime/api/api-object.ts'

export function recordOf(value: unknown): JsonRecord {
  return isJsonRecord(value) ? value : {}
}

/** The members that are text. */
export function textsOf(value: unknown): Readonly<Record<string, string | undefined>> {
  const members = Object.entries(recordOf(value))
  return Object.fromEntries(members.flatMap(([name, one]) => (isText(one) ? [[name, one]] : [])))
}

export function isBoundTo({ status }: StoredObject): boolean {
  return recordOf(status)['phase'] === 'Bound'
}
