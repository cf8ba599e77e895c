import { ServiceError } from '../../../lib/errors.ts'

/** The name of a model on a hub. Both parts are safe names of folders. */
export interface ModelName {
  readonly owner: string
  readonly name: string
}

/** The names that hubs allow. A name becomes a folder, so it must be neither `..` nor hidden. */
const PART = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/

/** Parses `owner/name`. Throws INVALID_ARGUMENT for other texts. */
export function parseModelName(text: string): ModelName {
  const parts = text.split('/')
  const [owner, name] = parts
  if (parts.length === 2 && isNamePart(owner) && isNamePart(name)) return { owner, name }
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `not a model: "${text}"; it has the form OWNER/NAME, of letters, digits, ".", "_" and "-"`,
  )
}

function isNamePart(text: string | undefined): text is string {
  return text !== undefined && PART.test(text) && !text.includes('..')
}

/** Parses a branch, tag or commit. Throws INVALID_ARGUMENT for other texts. */
export function parseRevision(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/.test(text) && !text.includes('..')) return text
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `not a revision: "${text}"; give a branch, tag or commit`,
  )
}
