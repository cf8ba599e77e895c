// Reading settings that a table's record keeps as plain JSON.

import { ServiceError } from '../../lib/errors.ts'

export type PlainMembers = Readonly<Record<string, unknown>>

export function isPlainObject(value: unknown): value is PlainMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The members of settings, or of an object in them; CORRUPTION for anything else. */
export function membersOf(value: unknown, member: string): PlainMembers {
  return isPlainObject(value) ? value : failSetting(member)
}

/** Settings that were never written so. */
export function failSetting(member: string): never {
  throw new ServiceError('CORRUPTION', `settings of an embeddings index: bad ${member}`)
}
