// The schema of a table: the form of its documents and their lifetime.

import { isDeepStrictEqual } from 'node:util'
import { checkDocumentSchema } from './document-schema.ts'
import { parseDurationMs } from './duration.ts'
import { parseDynamicTemplates } from './dynamic-templates.ts'
import { parseFieldPath } from '../document/field-path.ts'
import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'
import { runAtOnce, type Sliced } from '../../lib/sliced.ts'
import { checkSchemaSize } from './schema-limits.ts'
import { parseBoolean, parseRecord, parseText, refuse } from './schema-members.ts'
import { parseAnalysisSettings, parseSynonyms } from './text-settings.ts'
import { UNNAMED_TYPE } from './unnamed-type.ts'
import type { DynamicTemplate } from './dynamic-templates.ts'
import type { TextSettings } from './text-settings.ts'

const DOCUMENT_SCHEMAS_MAX = 1000
export const TIMESTAMP_FIELD = '_timestamp'
const TYPE_NAME_LENGTH_MAX = 255
const FIELDS = [
  'version',
  'default_type',
  'enforce_types',
  'document_schemas',
  'ttl_duration',
  'ttl_field',
  'language',
  'stop_words',
  'synonyms',
  'dynamic_templates',
]

/** The keywords that a schema of whole documents may have at its top. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set(
  (
    '$schema $id $ref $defs $comment $anchor definitions title description default examples ' +
    'deprecated readOnly writeOnly type enum const properties patternProperties ' +
    'additionalProperties propertyNames required minProperties maxProperties ' +
    'unevaluatedProperties allOf anyOf oneOf not if then else dependencies dependentRequired ' +
    'dependentSchemas'
  ).split(' '),
)

/** The schema of the documents of one type. */
export interface DocumentSchema {
  readonly description?: string
  /** A JSON Schema, draft 2020-12, or draft-07 if its `$schema` says so. */
  readonly schema: Readonly<Record<string, unknown>>
}

/** A checked schema of a table, as it is stored and as the API shows it. */
export interface TableSchema extends TextSettings {
  /**
   * The server counts it. It rises with every change except a change of the dynamic templates or
   * of the synonyms alone.
   */
  readonly version: number
  /** The `_type` that is written into a document without one. */
  readonly default_type?: string
  readonly enforce_types?: boolean
  readonly document_schemas?: Readonly<Record<string, DocumentSchema>>
  readonly ttl_duration?: string
  /** Default `_timestamp`. */
  readonly ttl_field?: string
  readonly dynamic_templates?: readonly DynamicTemplate[]
}

/** The members whose changes do not rebuild an index. */
type Unversioned = Pick<TableSchema, 'dynamic_templates' | 'synonyms'>
type Versioned = Omit<TableSchema, 'version' | keyof Unversioned>

/** A checked schema before it has a version. */
export type SchemaRequest = Omit<TableSchema, 'version'>

/** Parses a schema that is known to be small. `previous` is the current schema of the table. */
export function parseTableSchema(value: unknown, previous: TableSchema | undefined): TableSchema {
  return withVersion(runAtOnce(readTableSchema(value)), previous)
}

/** Reads a schema in steps. Ignores a `version` from the client. */
export function* readTableSchema(value: unknown): Sliced<SchemaRequest> {
  const members = parseRecord(withDocumentSchemas(value), 'schema', FIELDS)
  yield* checkSchemaSize(members)
  yield
  const versioned = yield* readVersioned(members)
  const templates = parseDynamicTemplates(members['dynamic_templates'], 'schema.dynamic_templates')
  const synonyms = parseSynonyms(members['synonyms'], 'schema.synonyms')
  return {
    ...versioned,
    ...(synonyms === undefined ? {} : { synonyms }),
    ...(templates === undefined ? {} : { dynamic_templates: templates }),
  }
}

/** Reads a plain JSON Schema as the schema of documents without a type. */
function withDocumentSchemas(value: unknown): unknown {
  if (!isJsonRecord(value) || !isPlainSchema(value)) return value
  const entries = Object.entries(value)
  const plain = Object.fromEntries(entries.filter((entry) => !isOurs(entry)))
  const unknown = Object.keys(plain).find((name) => !isSchemaKeyword(name))
  if (unknown !== undefined) {
    refuse('schema', `"${unknown}" is neither a setting of the table nor a keyword of JSON Schema`)
  }
  const schemas = { [UNNAMED_TYPE]: { schema: plain } }
  return { ...Object.fromEntries(entries.filter(isOurs)), document_schemas: schemas }
}

function isOurs([name]: readonly [string, unknown]): boolean {
  return FIELDS.includes(name)
}

function isPlainSchema(value: JsonRecord): boolean {
  if (Object.hasOwn(value, 'document_schemas')) return false
  return ['type', 'properties', '$schema'].some((keyword) => Object.hasOwn(value, keyword))
}

function isSchemaKeyword(name: string): boolean {
  return SCHEMA_KEYWORDS.has(name) || name.startsWith('x-service-')
}

export function withVersion(
  request: SchemaRequest,
  previous: TableSchema | undefined,
): TableSchema {
  return { version: versionAfter(previous, request), ...request }
}

function* readVersioned(members: Readonly<Record<string, unknown>>): Sliced<Versioned> {
  const defaultType = parseText(members['default_type'], 'schema.default_type')
  const enforceTypes = parseBoolean(members['enforce_types'], 'schema.enforce_types')
  const schemas = yield* readDocumentSchemas(members['document_schemas'])
  const ttlDuration = parseText(members['ttl_duration'], 'schema.ttl_duration')
  const ttlField = parseText(members['ttl_field'], 'schema.ttl_field')
  const versioned = {
    ...(defaultType === undefined ? {} : { default_type: defaultType }),
    ...(enforceTypes === undefined ? {} : { enforce_types: enforceTypes }),
    ...(schemas === undefined ? {} : { document_schemas: schemas }),
    ...(ttlDuration === undefined ? {} : { ttl_duration: ttlDuration }),
    ...(ttlField === undefined ? {} : { ttl_field: ttlField }),
    ...parseAnalysisSettings(members, 'schema'),
  }
  checkTogether(versioned)
  return versioned
}

/** Checks members that depend on each other. */
function checkTogether(schema: Versioned): void {
  const { default_type, enforce_types, document_schemas, ttl_duration, ttl_field } = schema
  if (ttl_duration !== undefined) parseDurationMs(ttl_duration, 'schema.ttl_duration')
  if (ttl_field !== undefined) parseFieldPath(ttl_field, 'schema.ttl_field')
  if (enforce_types !== true && isAnyStrict(document_schemas)) {
    refuse(
      'schema.document_schemas',
      'x-service-dynamic: "strict" needs enforce_types: true, because otherwise documents are not checked',
    )
  }
  if (document_schemas === undefined) {
    if (enforce_types !== true) return
    refuse('schema.enforce_types', 'needs document_schemas, otherwise no document would pass')
  }
  if (default_type !== undefined && !Object.hasOwn(document_schemas, default_type)) {
    refuse('schema.default_type', `"${default_type}" is not one of document_schemas`)
  }
}

function isAnyStrict(schemas: Versioned['document_schemas']): boolean {
  return JSON.stringify(schemas ?? {}).includes('"x-service-dynamic":"strict"')
}

function* readDocumentSchemas(
  value: unknown,
): Sliced<Readonly<Record<string, DocumentSchema>> | undefined> {
  if (value === undefined) return undefined
  const where = 'schema.document_schemas'
  const entries = Object.entries(parseRecord(value, where))
  if (entries.length > DOCUMENT_SCHEMAS_MAX) {
    refuse(where, `may hold at most ${DOCUMENT_SCHEMAS_MAX} types`)
  }
  const schemas: [string, DocumentSchema][] = []
  for (const [type, entry] of entries) {
    schemas.push([type, yield* readDocumentSchema(type, entry, where)])
  }
  return Object.fromEntries(schemas)
}

function* readDocumentSchema(type: string, entry: unknown, where: string): Sliced<DocumentSchema> {
  if (type === '' || type.length > TYPE_NAME_LENGTH_MAX) {
    refuse(where, `a type name must have 1 to ${TYPE_NAME_LENGTH_MAX} characters`)
  }
  const place = `${where}[${JSON.stringify(type)}]`
  const members = parseRecord(entry, place, ['description', 'schema'])
  const description = parseText(members['description'], `${place}.description`)
  const schema = parseRecord(members['schema'], `${place}.schema`)
  yield* checkDocumentSchema(schema, `${place}.schema`)
  return { ...(description === undefined ? {} : { description }), schema }
}

function versionAfter(previous: TableSchema | undefined, request: SchemaRequest): number {
  if (previous === undefined) return 0
  const { version, ...before } = previous
  return isDeepStrictEqual(versionedOf(before), versionedOf(request)) ? version : version + 1
}

/** Fills in the defaults: to write a default out is not a change. */
function versionedOf(schema: SchemaRequest): Versioned {
  const { dynamic_templates: _templates, synonyms: _synonyms, ...versioned } = schema
  return { enforce_types: false, ttl_field: TIMESTAMP_FIELD, ...versioned }
}
