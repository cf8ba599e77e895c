// The fields of StoreCluster as rows for people: the table of docs/reference/store-cluster.md.

import { CONDITION_MEANINGS, CONDITION_REASONS } from '../cluster/conditions.ts'
import { storeClusterSchema } from './store-cluster-crd.ts'
import { rulesOf, schemaFields } from './structural-schema.ts'
import type { SchemaField, StructuralSchema } from './structural-schema.ts'

/** Field, type, default, limits, meaning. */
export type FieldRow = readonly [string, string, string, string, string]

/** Fields of Kubernetes' own types: their rows would hide the others, and Kubernetes' documentation has them. */
const KUBERNETES_TYPES: ReadonlySet<string> = new Set([
  'affinity',
  'tolerations',
  'topologySpreadConstraints',
  'resources',
  'env',
  'envFrom',
  'podSecurityContext',
  'containerSecurityContext',
  'clientFrom',
  'metricsFrom',
  'extraEgress',
])

export function fieldRows(part: 'spec' | 'status'): readonly FieldRow[] {
  return schemaFields(storeClusterSchema())
    .filter(({ path }) => path.startsWith(`${part}.`) && isShown(path))
    .map(rowOf)
}

/** The messages of all rules, which say what fits with what. */
export function ruleMessages(): readonly string[] {
  return rulesOf(storeClusterSchema()).map(({ message }) => message)
}

/** Condition, what True means, and its reasons. */
export function conditionRows(): readonly (readonly [string, string, string])[] {
  const reasons = new Map<string, readonly string[]>(Object.entries(CONDITION_REASONS))
  return Object.entries(CONDITION_MEANINGS).map(([type, meaning]) => [
    `\`${type}\``,
    meaning,
    (reasons.get(type) ?? []).map((reason) => `\`${reason}\``).join(', '),
  ])
}

function isShown(path: string): boolean {
  const names = path.split('.').map((name) => name.replace(/\[\]|\{\}$/, ''))
  const isItem = /(?:\[\]|\{\})$/.test(path)
  return !isItem && !names.slice(0, -1).some((name) => KUBERNETES_TYPES.has(name))
}

function rowOf({ path, schema, isRequired }: SchemaField): FieldRow {
  const value = schema.default
  const without = isRequired ? 'required' : 'none'
  const filledIn = value === undefined ? without : `\`${JSON.stringify(value)}\``
  return [`\`${path}\``, typeName(schema), filledIn, limitsOf(schema), schema.description ?? '']
}

function typeName(schema: StructuralSchema): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or string'
  if (schema.items !== undefined) return `list of ${typeName(schema.items)}s`
  if (schema.additionalProperties !== undefined) return 'map'
  if (schema.enum !== undefined) return schema.type === 'integer' ? 'integer' : 'word'
  return schema.format === 'date-time' ? 'time' : (schema.type ?? 'any')
}

function limitsOf(schema: StructuralSchema): string {
  const { enum: values, minimum, maximum, minItems = 0, maxItems, maxProperties } = schema
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ')
  if (minimum !== undefined) {
    return maximum === Number.MAX_SAFE_INTEGER ? `${minimum} or more` : `${minimum} to ${maximum}`
  }
  if (maxItems !== undefined) return `${minItems} to ${maxItems} items`
  if (maxProperties !== undefined) return `up to ${maxProperties} entries`
  if (schema.maxLength === undefined) return ''
  return `up to ${schema.maxLength} characters`
}
