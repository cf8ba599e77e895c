// The limits of a schema, checked before any recursive walk over it.

import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { refuse } from './schema-members.ts'

export const SCHEMA_BYTES_MAX = 1024 * 1024
/** How deep objects and arrays may nest. It is enough to describe the deepest document. */
export const SCHEMA_DEPTH_MAX = 256
/** The limit of values in all document schemas together: objects, arrays, strings and others. */
const DOCUMENT_SCHEMA_VALUES_MAX = 10_000
/**
 * The limit of values in a whole request. Dynamic templates are many and small and have a limit of
 * their own.
 */
const REQUEST_VALUES_MAX = 50_000
const VALUES_PER_STEP = 2000

/** Throws INVALID_ARGUMENT for a larger schema. So all later work on a schema is bounded. */
export function* checkSchemaSize(request: JsonRecord): Sliced<void> {
  yield* checkSize(request, 'schema', REQUEST_VALUES_MAX)
  const documentSchemas = request['document_schemas']
  yield* checkSize(documentSchemas, 'schema.document_schemas', DOCUMENT_SCHEMA_VALUES_MAX)
}

function* checkSize(value: unknown, where: string, valuesMax: number): Sliced<void> {
  const meter = new StepMeter(VALUES_PER_STEP)
  const pending = [{ value, depth: 1 }]
  let bytes = 0
  let values = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value: one, depth } = next
    if (depth > SCHEMA_DEPTH_MAX) {
      refuse(where, `is nested deeper than ${SCHEMA_DEPTH_MAX} levels`)
    }
    values++
    if (values > valuesMax) refuse(where, `may hold at most ${valuesMax} values`)
    bytes += ownBytes(one)
    if (bytes > SCHEMA_BYTES_MAX) refuse(where, `may have at most ${SCHEMA_BYTES_MAX} bytes`)
    const children = childrenOf(one)
    for (const inner of children) pending.push({ value: inner, depth: depth + 1 })
    if (meter.spend(1 + children.length)) yield
  }
}

/** The length of a value in the JSON text, without its members and elements. */
function ownBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2
  if (!isJsonRecord(value)) return 4
  return Object.keys(value).reduce((sum, name) => sum + Buffer.byteLength(name) + 4, 2)
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return isJsonRecord(value) ? Object.values(value) : []
}
