// The demands of a table's schema on each written document: its type, its shape and its expiry.

import { ServiceError } from '../../lib/errors.ts'
import { located, shownKey } from '../document/document-limits.ts'
import { parseFieldPath, valueAt } from '../document/field-path.ts'
import { AskedNames } from '../document/open-object.ts'
import { memberTexts, scalarOf, textAtPath } from '../document/text-at-path.ts'
import { runAtOnce, type Sliced } from '../../lib/sliced.ts'
import { compileDocumentSchema } from './document-schema.ts'
import { parseDurationMs } from './duration.ts'
import { parseDateMs } from './rfc3339.ts'
import { TIMESTAMP_FIELD } from './table-schema.ts'
import { UNNAMED_TYPE } from './unnamed-type.ts'
import type { JsonObject, JsonValue } from '../document/exact-json.ts'
import type { FieldPath } from '../document/field-path.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import type { DocumentValidator } from './document-schema.ts'
import type { SchemaViolation } from './schema-violation.ts'
import type { TableSchema } from './table-schema.ts'

/** When the documents of a table expire: `durationMs` after the time in `field`. */
export interface TtlRule {
  readonly field: FieldPath
  readonly durationMs: number
}

/** The rule of a table, as records remember it. */
export interface TtlPolicy extends TtlRule {
  /**
   * Goes up when the table's rule changes, and with nothing else. An expiry that was computed under
   * another generation must be computed again.
   */
  readonly generation: number
}

export type Expiry =
  | { readonly kind: 'none' }
  | { readonly kind: 'at'; readonly ms: number }
  /** The document has no time of its own, so its time is that of its commit. */
  | { readonly kind: 'after-write'; readonly durationMs: number }

/** A document that the schema accepts, with the default type written into it. */
export interface CheckedDocument {
  readonly json: Buffer
  readonly expiry: Expiry
}

const NEVER: Expiry = { kind: 'none' }
/** Stands for every earlier moment, because stored expiries are not negative and 0 means never. */
const EXPIRED_MS = 1
const TYPE_FIELD = '_type'
const TYPE_NAMES = new AskedNames([TYPE_FIELD])

/** The rules of one version of a schema. Create them once for each version. */
export class DocumentRules {
  readonly ttl: TtlRule | undefined
  readonly #schema: TableSchema | undefined
  /** By type. A type is compiled for its first document. */
  readonly #validators = new Map<string, DocumentValidator | ServiceError>()

  constructor(schema: TableSchema | undefined) {
    this.#schema = schema
    this.ttl = schema === undefined ? undefined : ttlRuleOf(schema)
  }

  /** The unchanged document if no rule applies to it; otherwise undefined. */
  free(json: Buffer): CheckedDocument | undefined {
    return this.#schema === undefined ? { json, expiry: NEVER } : undefined
  }

  /** Checks a document that is known to be small. */
  check(key: Buffer, json: Buffer): CheckedDocument {
    return runAtOnce(this.checkSliced(key, json))
  }

  /**
   * Checks `json`, a compact JSON object. Throws INVALID_ARGUMENT for a document that the schema
   * refuses.
   */
  *checkSliced(key: Buffer, json: Buffer): Sliced<CheckedDocument> {
    const schema = this.#schema
    if (schema === undefined) return { json, expiry: NEVER }
    const { named, timed } = yield* this.#readFields(json)
    if (named !== undefined && typeof named !== 'string') {
      return refuse(key, `/${TYPE_FIELD} must be a string`)
    }
    const type = named ?? schema.default_type
    if (schema.enforce_types === true) yield* this.#checkShape(key, type ?? unnamed(schema), json)
    return {
      json: named === undefined && type !== undefined ? withType(json, type) : json,
      expiry: this.#expiryOf(key, timed),
    }
  }

  /** The type that the document names, and the value of its TTL field. */
  *#readFields(json: Buffer): Sliced<{
    readonly named: JsonValue | undefined
    readonly timed: JsonValue | undefined
  }> {
    const { ttl } = this
    const type = (yield* memberTexts(json, TYPE_NAMES)).get(TYPE_FIELD)
    const time = ttl === undefined ? undefined : yield* textAtPath(json, ttl.field)
    return {
      named: type === undefined ? undefined : scalarOf(type),
      timed: time === undefined ? undefined : scalarOf(time),
    }
  }

  *#checkShape(key: Buffer, type: string | undefined, json: Buffer): Sliced<void> {
    const name = type ?? refuse(key, `${TYPE_FIELD} is missing; ${this.#mustBeKnown()}`)
    const shapes = this.#schema?.document_schemas ?? {}
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
    const { schema } =
      shape ?? refuse(key, `/${TYPE_FIELD} "${name}" is unknown; ${this.#mustBeKnown()}`)
    const validator = this.#validators.get(name) ?? (yield* compiledOrRefusal(name, schema))
    this.#validators.set(name, validator)
    const found = yield* violationOf(validator, key, json)
    if (found === undefined) return
    refuse(key, `${found.pointer === '' ? 'it' : found.pointer} ${found.message}`)
  }

  #mustBeKnown(): string {
    return `it must be one of ${Object.keys(this.#schema?.document_schemas ?? {}).join(', ')}`
  }

  #expiryOf(key: Buffer, timed: JsonValue | undefined): Expiry {
    const { ttl } = this
    if (ttl === undefined) return NEVER
    const expiry = findExpiry(timed, ttl)
    if (typeof expiry !== 'string') return expiry
    return refuse(key, `ttl field "${ttl.field.text}" ${expiry}`)
  }
}

/**
 * The expiry of a document that was written before the policy, at `writtenMs`. Undefined means
 * never: the document has no usable time.
 */
export function expiryMsOf(
  document: JsonObject,
  policy: TtlRule,
  writtenMs: number,
): number | undefined {
  const expiry = findExpiry(valueAt(document, policy.field), policy)
  return typeof expiry === 'string' ? undefined : expiryMsAfter(expiry, writtenMs)
}

/** Computes as `expiryMsOf` does, in steps, from the text of a stored document. */
export function* expiryMsOfText(
  json: Buffer,
  policy: TtlRule,
  writtenMs: number,
): Sliced<number | undefined> {
  const text = yield* textAtPath(json, policy.field)
  const expiry = findExpiry(text === undefined ? undefined : scalarOf(text), policy)
  return typeof expiry === 'string' ? undefined : expiryMsAfter(expiry, writtenMs)
}

/**
 * The moment that `expiry` means for a document written at `writtenMs`, in ms since 1970; undefined
 * means never.
 */
export function expiryMsAfter(expiry: Expiry, writtenMs: number): number | undefined {
  if (expiry.kind === 'none') return undefined
  return expiry.kind === 'at' ? expiry.ms : writtenMs + expiry.durationMs
}

/** `value` is the value of the TTL field. A string result says what is wrong with it. */
function findExpiry(value: JsonValue | undefined, { field, durationMs }: TtlRule): Expiry | string {
  if (value === undefined) {
    if (field.text === TIMESTAMP_FIELD) return { kind: 'after-write', durationMs }
    return 'is missing'
  }
  const baseMs = typeof value === 'string' ? parseDateMs(value) : undefined
  if (baseMs === undefined) return 'must be an RFC 3339 timestamp, such as 2030-01-31T12:00:00Z'
  return { kind: 'at', ms: Math.max(baseMs + durationMs, EXPIRED_MS) }
}

/** The type of documents without a type, if the schema does not write one into them. */
function unnamed({ document_schemas = {} }: TableSchema): string | undefined {
  return Object.hasOwn(document_schemas, UNNAMED_TYPE) ? UNNAMED_TYPE : undefined
}

function ttlRuleOf(schema: TableSchema): TtlRule | undefined {
  if (schema.ttl_duration === undefined) return undefined
  return {
    field: parseFieldPath(schema.ttl_field ?? TIMESTAMP_FIELD, 'schema.ttl_field'),
    durationMs: parseDurationMs(schema.ttl_duration, 'schema.ttl_duration'),
  }
}

/**
 * Compiles the schema of a type. A schema that this program cannot check becomes a refusal of its
 * documents.
 */
function* compiledOrRefusal(
  type: string,
  shape: JsonRecord,
): Sliced<DocumentValidator | ServiceError> {
  const where = `schema.document_schemas[${JSON.stringify(type)}].schema`
  try {
    return yield* compileDocumentSchema(shape, where)
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
}

function* violationOf(
  validator: DocumentValidator | ServiceError,
  key: Buffer,
  json: Buffer,
): Sliced<SchemaViolation | undefined> {
  const shown = `document ${shownKey(key.toString('utf8'))}`
  if (validator instanceof ServiceError) throw located(shown, validator)
  try {
    return yield* validator.find(json)
  } catch (error) {
    throw located(shown, error)
  }
}

/** The document's own bytes with the type as first member. */
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
