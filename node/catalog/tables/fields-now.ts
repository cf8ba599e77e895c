import type { Clock } from '../../../lib/clock.ts'
import { answerWithin } from '../../../lib/deadline.ts'
import { isServiceError } from '../../../lib/errors.ts'
import type { TableField } from '../../schema/table-field.ts'
import type { TableFields } from '../../shard/following/table-fields.ts'

/**
 * The list of a table's fields, with those that other nodes added. While the list cannot be read, the
 * fields that this node knows. Rejects if the table has a full-text index (`isIndexed`) and this node knows nothing,
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

/** A listing takes milliseconds. Without etcd it is given up after seconds, which no stale read may wait. */
const STALE_MS = 500

interface FieldsWanted {
  readonly isIndexed: boolean
  readonly isStale: boolean
  readonly clock: Clock
}

/** As `fieldsNow`; a stale read takes what this node knows if the list does not answer within STALE_MS. */
export async function fieldsFor(
  fields: TableFields,
  { isIndexed, isStale, clock }: FieldsWanted,
): Promise<readonly TableField[]> {
  const listed = fieldsNow(fields, isIndexed)
  if (!isStale) return listed
  if (isIndexed && fields.known.length === 0) return listed
  return (await answerWithin(listed, { clock, ms: STALE_MS })) ?? fields.known
}
