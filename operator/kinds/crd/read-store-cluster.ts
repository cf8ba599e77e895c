// What the API server stored, as a StoreCluster. It checked the object by the schema that it had when the object was
// written, which may be that of another version of this operator.

import { Check, Errors } from 'typebox/value'
import { isKnownCondition } from '../cluster/conditions.ts'
import { status } from '../cluster/status.ts'
import type { StoreClusterStatus } from '../cluster/status.ts'
import { storeCluster } from '../cluster/store-cluster.ts'
import type { StoreCluster } from '../cluster/store-cluster.ts'

/** What is wrong with one field. It says nothing of the field's value, which may be a secret. */
export interface FieldProblem {
  /** As people write it: `spec.nodes.env[0].name`. */
  readonly path: string
  readonly problem: string
}

export type ReadStoreCluster =
  | { readonly kind: 'cluster'; readonly cluster: StoreCluster }
  | { readonly kind: 'malformed'; readonly problems: readonly FieldProblem[] }

const PROBLEMS_MAX = 16
const NOT_AN_OBJECT: FieldProblem = {
  path: '',
  problem: 'does not have the form of a StoreCluster',
}
const SEGMENT_LENGTH_MAX = 128

/** What one pass of the operator leaves to the next. All other fields of the status are made anew by each pass. */
const REMEMBERED: ReadonlySet<string> = new Set([
  'operation',
  'members',
  'grownSize',
  'lastGrownAt',
])

/**
 * Contract:
 * - Never throws, whatever the object is.
 * - Fields that this operator does not know are kept where they are, and not an error.
 * - A default that is missing is a problem: the definition of the kind is older than this operator.
 * - Of the status, what is wrong with `operation`, `members` and the grown size is a problem, for to act without
 *   them, or by half of them, could lose documents. Anything else that is wrong there is left out, and so are
 *   conditions that this operator does not know.
 */
export function readStoreCluster(object: unknown): ReadStoreCluster {
  const readable = isRecord(object) ? { ...object, ...readableStatus(object['status']) } : object
  if (Check(storeCluster, readable)) return { kind: 'cluster', cluster: readable }
  return { kind: 'malformed', problems: problemsOf(readable) }
}

/**
 * What of a status people can be shown, whichever version of the operator wrote it: fields that this one cannot read are
 * left out. Conditions stay that it does not know.
 */
export function readStatus(value: unknown): StoreClusterStatus | undefined {
  if (!isRecord(value)) return undefined
  const fields = Object.entries(status.properties).filter(
    ([name, schema]) => Object.hasOwn(value, name) && Check(schema, value[name]),
  )
  const readable = Object.fromEntries(fields.map(([name]) => [name, value[name]]))
  return Check(status, readable) ? readable : undefined
}

function readableStatus(value: unknown): { readonly status?: unknown } {
  if (!isRecord(value)) return value === undefined ? {} : { status: value }
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const schema = Object.entries(status.properties).find(([known]) => known === name)?.[1]
    if (schema === undefined || REMEMBERED.has(name)) return [[name, field]]
    const kept = name === 'conditions' ? knownConditions(field) : field
    return Check(schema, kept) ? [[name, kept]] : []
  })
  return { status: Object.fromEntries(fields) }
}

function knownConditions(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  return value.filter((item) => {
    if (!isRecord(item)) return false
    const { type, reason } = item
    return (
      typeof type === 'string' && typeof reason === 'string' && isKnownCondition({ type, reason })
    )
  })
}

function problemsOf(value: unknown): readonly FieldProblem[] {
  // What is wrong with a value of a map is said of the value, and once more of the map.
  const errors = Errors(storeCluster, value).filter(
    ({ keyword }) => keyword !== 'additionalProperties',
  )
  const problems = errors.flatMap((error) => {
    const path = pathOf(error.instancePath)
    if (error.keyword !== 'required') return [{ path, problem: error.message }]
    return error.params.requiredProperties.map((name) => ({
      path: path === '' ? name : `${path}.${name}`,
      problem: 'is missing',
    }))
  })
  return problems.length === 0 ? [NOT_AN_OBJECT] : problems.slice(0, PROBLEMS_MAX)
}

/** The path of a JSON pointer. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((segment) => segment.slice(0, SEGMENT_LENGTH_MAX))
    .reduce((path, segment) => {
      if (/^\d+$/.test(segment)) return `${path}[${segment}]`
      if (!/^\w+$/.test(segment)) return `${path}[${JSON.stringify(segment)}]`
      return path === '' ? segment : `${path}.${segment}`
    }, '')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
