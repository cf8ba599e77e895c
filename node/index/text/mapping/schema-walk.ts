// Finds the rules of a JSON Schema for one member of an object, for indexing.
//
// Every schema that applies to a place describes it: references inside the schema are followed, and
// all branches of allOf, anyOf and oneOf count.

import { isServiceError } from '../../../../lib/errors.ts'
import { isJsonRecord } from '../../../../lib/json-record.ts'
import { compileLinearPattern } from '../../../../lib/linear-pattern/linear-pattern.ts'

export type JsonSchema = Readonly<Record<string, unknown>>
export type MemberRule =
  | { readonly kind: 'described'; readonly schemas: readonly JsonSchema[] }
  | { readonly kind: 'dynamic' }
  /** The schema leaves it out. Only a dynamic template can still index it. */
  | { readonly kind: 'unmentioned' }
  | { readonly kind: 'forbidden' }

const BRANCHES_MAX = 100
const COMBINATORS = ['allOf', 'anyOf', 'oneOf'] as const

export function isSchema(value: unknown): value is JsonSchema {
  return isJsonRecord(value)
}

/** The schema itself, and all schemas that it refers to or combines. */
export function branchesOf(schema: JsonSchema, root: JsonSchema): readonly JsonSchema[] {
  const found = new Set([schema])
  // A set also walks over members that the loop adds.
  for (const one of found) {
    if (found.size >= BRANCHES_MAX) break
    const reference = one['$ref']
    const target = typeof reference === 'string' ? resolve(reference, root) : undefined
    if (target !== undefined) found.add(target)
    for (const part of COMBINATORS.flatMap((combinator) => one[combinator]).filter(isSchema)) {
      found.add(part)
    }
  }
  return [...found]
}

/** `isDynamic` says whether members without a description are indexed by their values. */
export function memberRule(
  schemas: readonly JsonSchema[],
  name: string,
  { root, isDynamic }: { readonly root: JsonSchema; readonly isDynamic: boolean },
): MemberRule {
  const found = schemas.flatMap((schema) => describing(schema, name))
  if (found.length > 0) return described(found.flatMap((schema) => branchesOf(schema, root)))
  const rule = undescribed(schemas, root)
  return rule.kind === 'unmentioned' && isDynamic ? { kind: 'dynamic' } : rule
}

/**
 * The setting of an object's schemas for members that they do not mention; undefined if there is
 * none.
 */
export function dynamicSetting(schemas: readonly JsonSchema[]): boolean | undefined {
  const setting = schemas.map((one) => one['x-service-dynamic']).find((one) => one !== undefined)
  return setting === undefined ? undefined : setting === true
}

/** The names that the schemas describe. */
export function declaredNames(schemas: readonly JsonSchema[]): readonly string[] {
  const names = schemas.flatMap(({ properties }) =>
    isSchema(properties) ? Object.keys(properties) : [],
  )
  return [...new Set(names)]
}

/** The schemas of an array's elements. */
export function elementSchemas(schemas: readonly JsonSchema[], root: JsonSchema) {
  const items = schemas.map((schema) => schema['items']).filter(isSchema)
  return items.flatMap((schema) => branchesOf(schema, root))
}

function describing(schema: JsonSchema, name: string): readonly JsonSchema[] {
  const { properties, patternProperties } = schema
  if (isSchema(properties) && Object.hasOwn(properties, name)) {
    const property = properties[name]
    // `true` accepts any value, so it describes only that the field exists.
    if (property === true) return [{}]
    return isSchema(property) ? [property] : []
  }
  if (!isSchema(patternProperties)) return []
  return Object.entries(patternProperties).flatMap(([pattern, property]) =>
    isSchema(property) && matchesName(pattern, name) ? [property] : [],
  )
}

function undescribed(schemas: readonly JsonSchema[], root: JsonSchema): MemberRule {
  const rules = schemas.map((schema) => schema['additionalProperties'])
  if (rules.includes(false)) return { kind: 'forbidden' }
  const telling = rules.filter(isSchema).filter((schema) => Object.keys(schema).length > 0)
  if (telling.length > 0) return described(telling.flatMap((one) => branchesOf(one, root)))
  const isDynamic =
    rules.some((rule) => rule === true || isSchema(rule)) || schemas.some(asksForInference)
  return { kind: isDynamic ? 'dynamic' : 'unmentioned' }
}

function described(schemas: readonly JsonSchema[]): MemberRule {
  return { kind: 'described', schemas }
}

function asksForInference(schema: JsonSchema): boolean {
  const indexing = schema['x-service-dynamic-indexing']
  return isSchema(indexing) && indexing['mode'] === 'infer_types'
}

/** A pattern that cannot be matched in linear time (with look-around) describes nothing. */
function matchesName(pattern: string, name: string): boolean {
  try {
    return compileLinearPattern(pattern, { match: 'anywhere' }).test(name)
  } catch (error) {
    if (isServiceError(error)) return false
    throw error
  }
}

/** Resolves JSON pointers into the same schema: `#`, `#/$defs/a`. */
function resolve(reference: string, root: JsonSchema): JsonSchema | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined
  let value: unknown = root
  for (const part of reference.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    value = isSchema(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return isSchema(value) ? value : undefined
}
