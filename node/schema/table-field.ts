// The fields that no schema spells out, as a table remembers them: in the order in which they were
// first met, each with what its first value was. All indexes of the table, on all shards, decide
// about such fields by this list, so that all of them decide alike.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import { isRawNumber } from '../document/exact-json.ts'
import { isJsonObject } from '../document/json-object.ts'
import { parseRfc3339Ms } from './rfc3339.ts'
import type { JsonValue } from '../document/exact-json.ts'

/** Of one table. Whoever adds asks `hasRoom` first. */
export const TABLE_FIELDS_MAX = 10_000
/** Of the paths of one table's fields together, in UTF-16 units. */
export const TABLE_FIELDS_LENGTH_MAX = 1024 * 1024
/** Of one path, in UTF-16 units. A longer one is data, and is not indexed. */
export const FIELD_PATH_LENGTH_MAX = 512

/** What a value can be as far as types of fields depend on it. A date is a timestamp in a string. */
export type ValueKind = 'string' | 'date' | 'number' | 'boolean' | 'object'

/** A field by its path, with what its first value was. */
export interface TableField {
  /** The names of the members that lead to it. */
  readonly path: readonly string[]
  readonly kind: ValueKind
  /** The document schema of the document that brought it; undefined if none describes that. */
  readonly documentType: string | undefined
}

/** The value of each kind by which a field is decided, in place of the one that was met. */
export const SAMPLES: Readonly<Record<ValueKind, JsonValue>> = {
  string: '',
  date: '1970-01-01T00:00:00Z',
  number: 0,
  boolean: true,
  object: {},
}

/** The value is neither null nor an array. */
export function kindOf(value: JsonValue): ValueKind {
  if (typeof value === 'string') return parseRfc3339Ms(value) === undefined ? 'string' : 'date'
  if (typeof value === 'boolean') return 'boolean'
  return isJsonObject(value) && !isRawNumber(value) ? 'object' : 'number'
}

/** The name that queries use, and what makes a field the same as another one. */
export function nameOf({ path }: Pick<TableField, 'path'>): string {
  return path.join('.')
}

/** A table's list as one thread knows it. It only grows, at its end. */
export class FieldList {
  readonly #fields = new Map<string, TableField>()
  #length = 0

  get size(): number {
    return this.#fields.size
  }

  /** By this alone, so that all who know the list agree whether it is full. */
  get hasRoom(): boolean {
    return this.#fields.size < TABLE_FIELDS_MAX && this.#length < TABLE_FIELDS_LENGTH_MAX
  }

  get(name: string): TableField | undefined {
    return this.#fields.get(name)
  }

  /** False if it is known already; the first stays. */
  add(field: TableField): boolean {
    const name = nameOf(field)
    if (this.#fields.has(name)) return false
    this.#fields.set(name, field)
    this.#length += name.length
    return true
  }

  copy(): FieldList {
    const copy = new FieldList()
    for (const field of this.#fields.values()) copy.add(field)
    return copy
  }

  toJSON(): readonly TableField[] {
    return [...this.#fields.values()]
  }
}

const KINDS: ReadonlySet<unknown> = new Set(Object.keys(SAMPLES))

/** What `toJSON` gave, from a disk. Throws CORRUPTION. */
export function parseTableFields(value: unknown): readonly TableField[] {
  if (!Array.isArray(value)) throw corrupt()
  return value.map((field: unknown) => {
    if (!isJsonRecord(field)) throw corrupt()
    const { path, kind, documentType } = field
    if (!Array.isArray(path) || !path.every((name) => typeof name === 'string')) throw corrupt()
    if (!isValueKind(kind)) throw corrupt()
    if (documentType !== undefined && typeof documentType !== 'string') throw corrupt()
    return { path, kind, documentType }
  })
}

function isValueKind(kind: unknown): kind is ValueKind {
  return KINDS.has(kind)
}

function corrupt(): ServiceError {
  return new ServiceError('CORRUPTION', 'the saved fields of a table are damaged')
}
