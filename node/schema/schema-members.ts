// Reads the members of a schema request, which the HTTP layer passes as plain JSON.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'

/** Reads an object. Without `allowed`, it may have members of any name. */
export function parseRecord(
  value: unknown,
  where: string,
  allowed?: readonly string[],
): JsonRecord {
  if (!isJsonRecord(value)) return refuse(where, 'must be an object')
  const unknown = Object.keys(value).find((name) => allowed?.includes(name) === false)
  if (unknown !== undefined && allowed !== undefined) {
    refuse(where, `unknown field "${unknown}"; allowed are ${allowed.join(', ')}`)
  }
  return value
}

export function parseText(value: unknown, where: string): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  return refuse(where, 'must be a string that is not empty')
}

export function parseBoolean(value: unknown, where: string): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value
  return refuse(where, 'must be true or false')
}

export function parseChoice<T extends string>(
  value: unknown,
  where: string,
  choices: readonly T[],
): T | undefined {
  if (value === undefined) return undefined
  const choice = choices.find((one) => one === value)
  return choice ?? refuse(where, `must be one of ${choices.join(', ')}`)
}

export function refuse(where: string, problem: string): never {
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
