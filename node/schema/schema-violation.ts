// How a document violates its schema.

import type { ArrayRules, ObjectRules, StringRules } from './schema-node.ts'

/** One violation. The message reads after the pointer, such as "/age must be integer". */
export interface SchemaViolation {
  /** A JSON pointer to the wrong value; empty for the document itself. */
  readonly pointer: string
  readonly message: string
}

export type FoundViolation = SchemaViolation | undefined

export function violation(message: string): SchemaViolation {
  return { pointer: '', message }
}

export function inside(
  step: string | number,
  { pointer, message }: SchemaViolation,
): SchemaViolation {
  const escaped = String(step).replaceAll('~', '~0').replaceAll('/', '~1')
  return { pointer: `/${escaped}${pointer}`, message }
}

export function formatProblem({ format }: StringRules, text: string): FoundViolation {
  if (format === undefined) return undefined
  const { name, test } = format
  if (text.length <= test.lengthMax && test.test(text)) return undefined
  return violation(`must match format "${name}"`)
}

export function containsProblem(
  { min, max }: NonNullable<ArrayRules['contains']>,
  found: number,
): string | undefined {
  if (found >= min && (max === undefined || found <= max)) return undefined
  const range = max === undefined ? `at least ${min}` : `at least ${min} and no more than ${max}`
  return `must contain ${range} valid item(s)`
}

export function requiredProblem(
  rules: ObjectRules,
  present: ReadonlySet<string>,
): string | undefined {
  const missing = rules.required.find((name) => !present.has(name))
  if (missing !== undefined) return `must have required property '${missing}'`
  for (const [name, needed] of rules.dependentRequired) {
    if (!present.has(name) || needed.every((one) => present.has(one))) continue
    const properties = needed.length === 1 ? 'property' : 'properties'
    return `must have ${properties} ${needed.join(', ')} when property ${name} is present`
  }
  return undefined
}

export const STRICT_PROBLEM = 'is not mentioned in the schema, which is strict'

export function unevaluatedProblem(isObject: boolean, index: number): string {
  return isObject
    ? 'must NOT have unevaluated properties'
    : `must NOT have more than ${index} items`
}
