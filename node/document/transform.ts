// Transforms: changes computed from the stored document, atomic for each key.

import { ServiceError } from '../../lib/errors.ts'
import { TRANSFORM_OPERATORS } from './transform-operators.ts'
import { at, parseDocumentKey, shownKey } from './document-limits.ts'
import { describeKind } from './exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from './json-object.ts'
import { parseFieldPath } from './field-path.ts'
import type { TransformOperator } from './transform-operators.ts'
import type { JsonObject, JsonValue } from './exact-json.ts'

export const TRANSFORM_OPERATIONS_MAX = 1000
const PATH_SEGMENTS_MAX = 100

export interface TransformOperation {
  readonly operator: TransformOperator
  readonly path: readonly string[]
  /** Checked against the operator. Operators without a value hold null. */
  readonly value: JsonValue
}

export interface TransformRequest {
  readonly key: Buffer
  readonly operations: readonly TransformOperation[]
  /** Whether an absent document is begun from `{}`; otherwise it stays absent. */
  readonly upsert: boolean
}

/** `where` is the path of the list in the request body, for messages. */
export function parseTransforms(value: JsonValue, where: string): readonly TransformRequest[] {
  if (!isJsonArray(value)) refuse(where, `must be an array, not ${describeKind(value)}`)
  return value.map((entry, index) => parseTransform(entry, `${where}[${index}]`))
}

/**
 * The document after all operations, or undefined if there is none and the request does not upsert.
 * An operation that does not fit the document refuses the whole request. The caller checks the size
 * and depth of the result (`assertDocumentLimits`).
 */
export function applyTransform(
  document: JsonObject | undefined,
  request: TransformRequest,
  nowMs: number,
): JsonObject | undefined {
  if (document === undefined && !request.upsert) return undefined
  let changed = document ?? {}
  for (const { operator, path, value } of request.operations) {
    changed = TRANSFORM_OPERATORS[operator].apply({
      document: changed,
      path,
      value,
      nowMs,
      refuse: (problem) => {
        const key = shownKey(request.key.toString('utf8'))
        refuse(`transform of ${key}`, `${operator} at "${path.join('.')}": ${problem}`)
      },
    })
  }
  return changed
}

function parseTransform(value: JsonValue, where: string): TransformRequest {
  const members = parseMembers(value, where, ['key', 'operations', 'upsert'])
  const key = memberOf(members, 'key')
  if (typeof key !== 'string') refuse(`${where}.key`, 'must be a string')
  const upsert = memberOf(members, 'upsert') ?? false
  if (typeof upsert !== 'boolean') refuse(`${where}.upsert`, 'must be a boolean')
  const operations = memberOf(members, 'operations')
  if (!isJsonArray(operations) || operations.length === 0) {
    refuse(`${where}.operations`, 'must be an array of at least one operation')
  }
  if (operations.length > TRANSFORM_OPERATIONS_MAX) {
    refuse(`${where}.operations`, `may hold at most ${TRANSFORM_OPERATIONS_MAX} operations`)
  }
  return {
    key: at(`${where}.key`, () => parseDocumentKey(key)),
    operations: operations.map((entry, index) =>
      parseOperation(entry, `${where}.operations[${index}]`),
    ),
    upsert,
  }
}

function parseOperation(value: JsonValue, where: string): TransformOperation {
  const members = parseMembers(value, where, ['op', 'path', 'value'])
  const operator = memberOf(members, 'op')
  if (!isTransformOperator(operator)) {
    const known = Object.keys(TRANSFORM_OPERATORS).join(', ')
    refuse(`${where}.op`, `must be one of ${known}`)
  }
  const path = parseTransformPath(memberOf(members, 'path'), `${where}.path`)
  const operand = memberOf(members, 'value')
  const problem = TRANSFORM_OPERATORS[operator].problemOf(operand)
  if (problem !== undefined) refuse(`${where}.value`, `${operator} needs ${problem}`)
  if (operator === '$rename') parseTransformPath(operand, `${where}.value`)
  return { operator, path, value: operand ?? null }
}

function isTransformOperator(value: JsonValue | undefined): value is TransformOperator {
  return typeof value === 'string' && Object.hasOwn(TRANSFORM_OPERATORS, value)
}

function parseTransformPath(value: JsonValue | undefined, where: string): readonly string[] {
  if (typeof value !== 'string' || value === '') {
    refuse(where, 'must be a path such as "a.b" or "$.a.b"')
  }
  const { segments } = parseFieldPath(value.startsWith('$.') ? value.slice(2) : value, where)
  if (segments.length > PATH_SEGMENTS_MAX) {
    refuse(where, `may have at most ${PATH_SEGMENTS_MAX} segments`)
  }
  return segments
}

function parseMembers(value: JsonValue, where: string, allowed: readonly string[]): JsonObject {
  if (!isJsonObject(value)) refuse(where, `must be an object, not ${describeKind(value)}`)
  const unknown = Object.keys(value).find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    refuse(where, `unknown field "${unknown}"; allowed are ${allowed.join(', ')}`)
  }
  return value
}

function refuse(where: string, problem: string): never {
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
