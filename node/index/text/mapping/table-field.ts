// The fields that no schema describes, as a table stores them: in the order of their first
// occurrence, each with the kind of its first value. All indexes of the table, on all shards,
// decide such fields by this list, so all of them decide alike.

import { ServiceError } from '../../../../lib/errors.ts'
import { isJsonRecord } from '../../../../lib/json-record.ts'
import { isRawNumber } from '../../../document/exact-json.ts'
import { isJsonObject } from '../../../document/json-object.ts'
import { parseRfc3339Ms } from '../../../schema/rfc3339.ts'
import type { JsonValue } from '../../../document/exact-json.ts'

/** The limit of fields in one table. A caller checks `hasRoom` before it adds one. */
export const TABLE_FIELDS_MAX = 10_000
/** The limit of all paths of one table's fields together, in UTF-16 units. */
export const TABLE_FIELDS_LENGTH_MAX = 1024 * 1024
/** The limit of one path, in UTF-16 units. A longer path is data and is not indexed. */
export const FIELD_PATH_LENGTH_MAX = 512

/** The kinds of values that decide the types of fields. A date is a timestamp in a string. */
export type ValueKind = 'string' | 'date' | 'number' | 'boolean' | 'object'

/** One field of a table's list. */
export interface TableField {
  /** The names of the members that lead to the field. */
  readonly path: readonly string[]
  readonly kind: ValueKind
  /**
   * The document schema of the first document with the field; undefined if no schema describes that
   * document.
   */
  readonly documentType: string | undefined
}

/** A value of each kind. It decides a field in place of the field's first value. */
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

/** The name of the field in queries. Two fields with the same name are one field. */
export function nameOf({ path }: Pick<TableField, 'path'>): string {
  return path.join('.')
}

/** A table's list as one thread knows it. Fields are only added, at its end. */
export class FieldList {
  readonly #fields = new Map<string, TableField>()
  #length = 0

  get size(): number {
    return this.#fields.size
  }

  /** Depends only on the list, so that all threads with the same list agree whether it is full. */
  get hasRoom(): boolean {
    return this.#fields.size < TABLE_FIELDS_MAX && this.#length < TABLE_FIELDS_LENGTH_MAX
  }

  get(name: string): TableField | undefined {
    return this.#fields.get(name)
  }

  /** Adds a field. Answers false if the field is already known; the first one stays. */
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

/** Parses the stored form of `toJSON`. Throws CORRUPTION. */
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
  return new ServiceError(
    'CORRUPTION',
    'the stored fields of a table are damaged; restore a backup',
  )
}
