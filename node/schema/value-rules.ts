// Rules for single values. Each function answers what is wrong; undefined means nothing.

import type { JsonTape } from '../document/json-tape.ts'
import type { InstanceType, Limits, NumberRules } from './schema-node.ts'

export function kindProblem(
  types: ReadonlySet<InstanceType> | undefined,
  tape: JsonTape,
  at: number,
): string | undefined {
  if (types === undefined) return undefined
  const kind = tape.kind(at)
  const type = kind === 'true' || kind === 'false' ? 'boolean' : kind
  if (types.has(type)) return undefined
  const isInteger = type === 'number' && types.has('integer') && Number.isInteger(tape.number(at))
  return isInteger ? undefined : `must be ${[...types].join(',')}`
}

export function numberProblem(rules: NumberRules | undefined, value: number): string | undefined {
  if (rules === undefined) return undefined
  const { multipleOf, format } = rules
  const problem = boundProblem(rules, value)
  if (problem !== undefined) return problem
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) {
    return `must be multiple of ${multipleOf}`
  }
  if (format === undefined || hasFormat(value, format)) return undefined
  return `must match format "${format}"`
}

function boundProblem({ min, max, above, below }: NumberRules, value: number): string | undefined {
  if (max !== undefined && value > max) return `must be <= ${max}`
  if (min !== undefined && value < min) return `must be >= ${min}`
  if (below !== undefined && value >= below) return `must be < ${below}`
  if (above !== undefined && value <= above) return `must be > ${above}`
  return undefined
}

function hasFormat(value: number, format: 'int32' | 'int64'): boolean {
  return Number.isInteger(value) && (format === 'int64' || (value | 0) === value)
}

export function limitProblem(
  { min, max }: Limits,
  count: number,
  what: 'characters' | 'items' | 'properties',
): string | undefined {
  if (max !== undefined && count > max) return `must NOT have more than ${max} ${what}`
  if (min !== undefined && count < min) return `must NOT have fewer than ${min} ${what}`
  return undefined
}
