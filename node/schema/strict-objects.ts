// `x-service-dynamic: "strict"`: an object and the objects in it may only have members that the
// schema mentions. Schemas behind a `$ref` or inside a combination must be strict by themselves.

import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'
import type { SchemaNode } from './schema-node.ts'
import { stepInto, type SchemaReferences } from './schema-references.ts'

export const DYNAMIC_KEYWORD = 'x-service-dynamic'
/** The product writes or reads these members, so every schema accepts them. */
export const RESERVED_MEMBERS = [
  '_type',
  '_timestamp',
  '_summaries',
  '_chunks',
  '_embeddings',
  '_edges',
] as const

/** How many steps of a pointer lead from a schema to a schema of its values. */
const STEPS_INSIDE: Readonly<Record<string, number>> = {
  properties: 2,
  patternProperties: 2,
  prefixItems: 2,
  items: 1,
}

/** Whether the schema at `place`, a JSON pointer, is strict. */
export function isStrictAt(
  schema: JsonRecord,
  place: string,
  references: Pick<SchemaReferences, 'valueAt'>,
): boolean {
  const own = schema[DYNAMIC_KEYWORD]
  if (own !== undefined) return own === 'strict'
  // A schema without members that does not demand an object accepts any value.
  if (!isJsonRecord(schema['properties']) && !typesOf(schema).includes('object')) return false
  const steps = place.split('/').slice(1)
  let around: unknown = references.valueAt('')
  let setting = settingOf(around)
  while (steps.length > 0) {
    const count = STEPS_INSIDE[steps[0] ?? '']
    if (count === undefined) return false
    for (const step of steps.splice(0, count)) around = stepInto(around, step)
    setting = settingOf(around) ?? setting
  }
  return setting === 'strict'
}

/** Whether the node refuses a member because its object is strict. */
export function isStrictness({ isFalse, place }: SchemaNode): boolean {
  return isFalse && place.endsWith(`/${DYNAMIC_KEYWORD}`)
}

function settingOf(schema: unknown): unknown {
  return isJsonRecord(schema) ? schema[DYNAMIC_KEYWORD] : undefined
}

function typesOf({ type }: JsonRecord): readonly unknown[] {
  return Array.isArray(type) ? type : [type]
}
