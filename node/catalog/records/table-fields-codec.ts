// A page of a table's list of fields. Format: docs/reference/formats/catalog.md.

import { ServiceError } from '../../../lib/errors.ts'
import { parseTableFields, type TableField } from '../../schema/table-field.ts'

const FORMAT = 1
const PREFIX = '/table-fields/'
const PAGE_DIGITS = 6

/** The pages of one table, in their order. */
export function fieldPagesPrefix(tableId: string): string {
  return `${PREFIX}${tableId}/`
}

/** Pages are numbered from 0. */
export function fieldPageKey(tableId: string, page: number): string {
  return fieldPagesPrefix(tableId) + String(page).padStart(PAGE_DIGITS, '0')
}

export function encodeFieldPage(fields: readonly TableField[]): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, fields }))
}

export function decodeFieldPage(bytes: Buffer): readonly TableField[] {
  const stored: { readonly format: number; readonly fields: unknown } = JSON.parse(bytes.toString())
  if (stored.format === FORMAT) return parseTableFields(stored.fields)
  throw new ServiceError('CORRUPTION', `fields of a table: unknown format ${stored.format}`)
}
