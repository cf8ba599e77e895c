import { ServiceError } from '../../lib/errors.ts'

/** As the contract's TableName. */
const TABLE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/
const SHOWN_LENGTH_MAX = 64
const RULE =
  'is not a table name; use letters, digits, ".", "_" and "-", ' +
  'begin with a letter or digit, and at most 255 characters'

/** For a name in a body: `where` names the place, for the message. */
export function checkTableName(text: string, where: string): void {
  if (TABLE_NAME.test(text)) return
  const shown = JSON.stringify(text.slice(0, SHOWN_LENGTH_MAX))
  throw new ServiceError('INVALID_ARGUMENT', `${where} ${shown} ${RULE}`)
}

/** For a name in the path. */
export const TABLE_NAME_REFUSAL = `tableName in the path ${RULE}`
