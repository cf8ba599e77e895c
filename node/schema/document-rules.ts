// What a table's schema demands of each document that is written: its type, its shape, its expiry.

import { ServiceError } from '../../lib/errors.ts'
import { shownKey } from '../document/document-limits.ts'
import { parseFieldPath, valueAt } from '../document/field-path.ts'
import { isJsonObject, memberOf } from '../document/json-object.ts'
import { assert } from '../../lib/assert.ts'
import { compileDocumentSchema } from './document-schema.ts'
import { parseDurationMs } from './duration.ts'
import { parseRfc3339Ms } from './rfc3339.ts'
import { TIMESTAMP_FIELD } from './table-schema.ts'
import type { JsonObject, JsonValue } from '../document/exact-json.ts'
import type { FieldPath } from '../document/field-path.ts'
import type { DocumentValidator } from './document-schema.ts'
import type { TableSchema } from './table-schema.ts'

export interface TtlPolicy {
  /** The schema version; an expiry computed under another generation has to be computed again. */
  readonly generation: number
  readonly field: FieldPath
  readonly durationMs: number
}

export type Expiry =
  | { readonly kind: 'none' }
  | { readonly kind: 'at'; readonly ms: number }
  /** The document leaves its time to us, and that is known only once it is committed. */
  | { readonly kind: 'after-write'; readonly durationMs: number }

export interface CheckedDocument {
  readonly json: Buffer
  readonly expiry: Expiry
}

const NEVER: Expiry = { kind: 'none' }
const TYPE_FIELD = '_type'

/** Compiled once for each version of a schema. */
export class DocumentRules {
  readonly ttl: TtlPolicy | undefined
  readonly #schema: TableSchema | undefined
  readonly #validators: ReadonlyMap<string, DocumentValidator>

  constructor(schema: TableSchema | undefined) {
    this.#schema = schema
    this.ttl = schema === undefined ? undefined : ttlPolicyOf(schema)
    this.#validators = new Map(schema?.enforce_types === true ? compileAll(schema) : [])
  }

  /** `json` is a compact JSON object; it comes back with its default type written into it. */
  check(key: Buffer, json: Buffer): CheckedDocument {
    const schema = this.#schema
    if (schema === undefined) return { json, expiry: NEVER }
    const document = parseDocument(json)
    const named = memberOf(document, TYPE_FIELD)
    if (named !== undefined && typeof named !== 'string') {
      refuse(key, `/${TYPE_FIELD} must be a string`)
    }
    const type = named ?? schema.default_type
    if (schema.enforce_types === true) this.#checkShape(key, type, document)
    return {
      json: named === undefined && type !== undefined ? withType(json, type) : json,
      expiry: this.#expiryOf(key, document),
    }
  }

  #checkShape(key: Buffer, type: string | undefined, document: JsonObject): void {
    const known = [...this.#validators.keys()].join(', ')
    if (type === undefined) refuse(key, `${TYPE_FIELD} is missing; it must be one of ${known}`)
    const validate = this.#validators.get(type)
    if (validate === undefined) {
      return refuse(key, `/${TYPE_FIELD} "${type}" is unknown; it must be one of ${known}`)
    }
    const violation = validate(document)
    if (violation === undefined) return
    refuse(key, `${violation.pointer === '' ? 'it' : violation.pointer} ${violation.message}`)
  }

  #expiryOf(key: Buffer, document: JsonObject): Expiry {
    const { ttl } = this
    if (ttl === undefined) return NEVER
    const expiry = findExpiry(document, ttl)
    if (typeof expiry !== 'string') return expiry
    return refuse(key, `ttl field "${ttl.field.text}" ${expiry}`)
  }
}

/**
 * For documents written before the policy: what has no usable time never expires (undefined).
 * `writtenMs` is when the document was written.
 */
export function expiryMsOf(
  document: JsonObject,
  policy: TtlPolicy,
  writtenMs: number,
): number | undefined {
  const expiry = findExpiry(document, policy)
  return typeof expiry === 'string' ? undefined : expiryMsAfter(expiry, writtenMs)
}

/** The instant meant by `expiry` for a document written at `writtenMs`; undefined means never. */
export function expiryMsAfter(expiry: Expiry, writtenMs: number): number | undefined {
  if (expiry.kind === 'none') return undefined
  return expiry.kind === 'at' ? expiry.ms : writtenMs + expiry.durationMs
}

/** A string tells what is wrong with the TTL field. */
function findExpiry(document: JsonObject, { field, durationMs }: TtlPolicy): Expiry | string {
  const value = valueAt(document, field)
  if (value === undefined) {
    if (field.text === TIMESTAMP_FIELD) return { kind: 'after-write', durationMs }
    return 'is missing'
  }
  const baseMs = typeof value === 'string' ? parseRfc3339Ms(value) : undefined
  if (baseMs === undefined) return 'must be an RFC 3339 timestamp, such as 2030-01-31T12:00:00Z'
  return { kind: 'at', ms: baseMs + durationMs }
}

function ttlPolicyOf(schema: TableSchema): TtlPolicy | undefined {
  if (schema.ttl_duration === undefined) return undefined
  return {
    generation: schema.version,
    field: parseFieldPath(schema.ttl_field ?? TIMESTAMP_FIELD, 'schema.ttl_field'),
    durationMs: parseDurationMs(schema.ttl_duration, 'schema.ttl_duration'),
  }
}

function compileAll(schema: TableSchema): [string, DocumentValidator][] {
  return Object.entries(schema.document_schemas ?? {}).map(([type, { schema: shape }]) => [
    type,
    compileDocumentSchema(shape, `schema.document_schemas[${JSON.stringify(type)}].schema`),
  ])
}

/** Doubles are enough here: the bytes stay as they are, and ajv knows no other numbers. */
function parseDocument(json: Buffer): JsonObject {
  const document: JsonValue = JSON.parse(json.toString('utf8'))
  assert(isJsonObject(document), 'a checked document is an object')
  return document
}

/** The document's own bytes, with the type as their first member. */
function withType(json: Buffer, type: string): Buffer {
  const isEmpty = json.length === '{}'.length
  const member = `{${JSON.stringify(TYPE_FIELD)}:${JSON.stringify(type)}${isEmpty ? '' : ','}`
  return Buffer.concat([Buffer.from(member, 'utf8'), json.subarray(1)])
}

function refuse(key: Buffer, problem: string): never {
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `document ${shownKey(key.toString('utf8'))}: ${problem}`,
  )
}
