import { ServiceError } from '../../lib/errors.ts'

const TABLE_NAME_LENGTH_MAX = 255
const SHOWN_LENGTH_MAX = 64

/** The pattern of TableName in the contract, without a regular expression for the hot path. */
export function isTableName(text: string): boolean {
  if (text.length === 0 || text.length > TABLE_NAME_LENGTH_MAX) return false
  if (!isLetterOrDigit(text.charCodeAt(0))) return false
  for (let i = 1; i < text.length; i += 1) {
    if (!isTableNameCode(text.charCodeAt(i))) return false
  }
  return true
}

/** `where` names the place in the request, for the message. */
export function checkTableName(text: string, where: string): void {
  if (isTableName(text)) return
  const shown = JSON.stringify(text.slice(0, SHOWN_LENGTH_MAX))
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `${where} ${shown} is not a table name; use letters, digits, ".", "_" and "-", ` +
      `begin with a letter or digit, and at most ${TABLE_NAME_LENGTH_MAX} characters`,
  )
}

const DOT = 46
const HYPHEN = 45
const UNDERSCORE = 95

function isTableNameCode(code: number): boolean {
  return isLetterOrDigit(code) || code === DOT || code === UNDERSCORE || code === HYPHEN
}

function isLetterOrDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}
