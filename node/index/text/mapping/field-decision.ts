// Decides the types of a field: by its schema, by a dynamic template, or by its first value.

import { isJsonObject } from '../../../document/json-object.ts'
import { FIELD_TYPES } from '../../../schema/field-types.ts'
import { KEYWORD_LENGTH_MAX } from '../analysis/analyzers.ts'
import { isSchema } from './schema-walk.ts'
import { templateFor } from './template-match.ts'
import type { JsonValue } from '../../../document/exact-json.ts'
import type { DynamicTemplate } from '../../../schema/dynamic-templates.ts'
import type { FieldType } from '../../../schema/field-types.ts'
import type { FieldDecision } from './field-registry.ts'
import type { JsonSchema } from './schema-walk.ts'

/** A longer string of a dynamic field is prose. It is searched by its words and is not a facet. */
const DYNAMIC_KEYWORD_LENGTH_MAX = 256
/** The types that are searched by their words. */
const WORDS: ReadonlySet<FieldType> = new Set(['text', 'html', 'search_as_you_type'])
const POINT_TYPES: ReadonlySet<FieldType> = new Set(['geopoint', 'geoshape'])
const SINGLE_TYPES: Readonly<Record<string, FieldType>> = {
  string: 'text',
  number: 'numeric',
  integer: 'numeric',
  boolean: 'boolean',
}

/** What the schemas around a field say about it. */
export interface InheritedRules {
  /** The analyzer that the document schema sets for all its fields. */
  readonly analyzer: string | undefined
  /**
   * Whether the schema lists the field for queries without a field name. Undefined if the schema
   * has no such list.
   */
  readonly isListed: boolean | undefined
}

/** Undefined if only the fields inside it are indexed, or if its value must decide. */
export function decideBySchema(
  schemas: readonly JsonSchema[],
  inherited: InheritedRules,
): FieldDecision | undefined {
  const named = schemas.map((schema) => schema['x-service-analyzer']).find(isText)
  const analyzer = named ?? inherited.analyzer
  const isIndexed = schemas.every((schema) => schema['x-service-index'] !== false)
  const types = schemas.map(serviceTypes).find((list) => list.length > 0)
  if (types !== undefined || !isIndexed) {
    const isInAll = inherited.isListed ?? types?.some((type) => WORDS.has(type)) ?? false
    const own = isIndexed ? (types ?? []) : []
    return { analyzer, isInAll, types: own, keywordLengthMax: KEYWORD_LENGTH_MAX }
  }
  const plain = schemas.map(inferredType).find((type) => type !== undefined)
  return plain === undefined ? undefined : unnamed(plain, { ...inherited, analyzer })
}

/** Decides a described field whose schema leaves the type open. */
export function decideByValue(value: JsonValue, inherited: InheritedRules) {
  const [type] = typesOfValue(value)
  return type === undefined ? undefined : unnamed(type, inherited)
}

/** A string without any other type is also a facet, as it is without a schema. */
function unnamed(type: FieldType, { analyzer, isListed }: InheritedRules): FieldDecision {
  const isString = type === 'text'
  return {
    analyzer,
    isInAll: isListed ?? isString,
    types: isString ? ['text', 'keyword'] : [type],
    keywordLengthMax: isString ? DYNAMIC_KEYWORD_LENGTH_MAX : KEYWORD_LENGTH_MAX,
  }
}

/** A field that no schema lists: where it lies in the document, and what holds there. */
export interface DynamicPlace extends InheritedRules {
  readonly path: readonly string[]
  /** Whether only a template can make the field an indexed one. */
  readonly needsTemplate: boolean
}

/** Undefined for an object that no template matches. Its members decide for themselves. */
export function decideDynamically(
  templates: readonly DynamicTemplate[],
  value: JsonValue,
  place: DynamicPlace,
): FieldDecision | undefined {
  const template = templateFor(templates, place.path, value)
  if (template === undefined) return place.needsTemplate ? undefined : inferred(value, place)
  const { mapping } = template
  if (mapping === undefined) return inferred(value, place, template)
  const isListed = mapping.include_in_all === true
  const analyzer = mapping.analyzer ?? place.analyzer
  const settled = { analyzer, isInAll: isListed, isListed }
  if (mapping.index === false) return { ...settled, types: [], keywordLengthMax: 0 }
  if (mapping.type === undefined) return inferred(value, settled, template)
  if (isJsonObject(value) && !POINT_TYPES.has(mapping.type)) return undefined
  const isFaceted = mapping.type === 'text' && mapping.doc_values === true
  const types = isFaceted ? (['text', 'keyword'] as const) : [mapping.type]
  return { ...settled, types, keywordLengthMax: KEYWORD_LENGTH_MAX }
}

/**
 * Without a template, a timestamp is a string like any other. Dates need a template or a schema.
 */
function inferred(
  value: JsonValue,
  { analyzer, isListed }: InheritedRules,
  template?: DynamicTemplate,
): FieldDecision | undefined {
  const isInAll = isListed !== false
  const isDate = template?.match_mapping_type === 'date'
  const types: readonly FieldType[] = isDate ? ['datetime'] : typesOfValue(value)
  if (types.length === 0) return undefined
  return { types, analyzer, isInAll, keywordLengthMax: DYNAMIC_KEYWORD_LENGTH_MAX }
}

function typesOfValue(value: JsonValue): readonly FieldType[] {
  if (typeof value === 'string') return ['text', 'keyword']
  if (typeof value === 'boolean') return ['boolean']
  return value === null || Array.isArray(value) || isJsonObject(value) ? [] : ['numeric']
}

function serviceTypes(schema: JsonSchema): readonly FieldType[] {
  const types = schema['x-service-types']
  if (!Array.isArray(types)) return []
  return FIELD_TYPES.filter((type) => types.includes(type))
}

function inferredType({ type, format }: JsonSchema): FieldType | undefined {
  const names: readonly unknown[] = Array.isArray(type) ? type : [type]
  const single = names.find((name) => isText(name) && Object.hasOwn(SINGLE_TYPES, name))
  if (single === 'string' && format === 'date-time') return 'datetime'
  return isText(single) ? SINGLE_TYPES[single] : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/**
 * The fields that the schema lists for queries without a field name; undefined if it has no list.
 */
export function namesInAll(schemas: readonly JsonSchema[]): ReadonlySet<string> | undefined {
  const lists = schemas
    .map((schema): unknown => schema['x-service-include-in-all'])
    .filter((list) => Array.isArray(list))
  return lists.length === 0 ? undefined : new Set(lists.flat().filter(isText))
}

export function analyzerIn(schemas: readonly JsonSchema[]): string | undefined {
  return schemas
    .filter(isSchema)
    .map((schema) => schema['x-service-analyzer'])
    .find(isText)
}

/** The weight of a match in the field; undefined if the schemas set none. */
export function boostIn(schemas: readonly JsonSchema[]): number | undefined {
  return schemas
    .map((schema): unknown => schema['x-service-boost'])
    .find((boost) => typeof boost === 'number')
}
