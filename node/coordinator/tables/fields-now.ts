import { isServiceError } from '../../../lib/errors.ts'
import type { TableField } from '../../schema/table-field.ts'
import type { TableFields } from '../../shard/following/table-fields.ts'

/**
 * The list of a table's fields, with those that other nodes added. While the list is out of reach it is what
 * this node knows of it. Rejects if the table has a full-text index (`isIndexed`) and this node knows nothing,
 * because fields would have other types than in the index.
 */
export async function fieldsNow(
  fields: TableFields,
  isIndexed: boolean,
): Promise<readonly TableField[]> {
  try {
    await fields.load()
  } catch (error) {
    const isKnown = fields.known.length > 0 || !isIndexed
    if (!isServiceError(error) || !isKnown) throw error
  }
  return fields.known
}
