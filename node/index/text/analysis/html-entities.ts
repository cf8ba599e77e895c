// Character references of HTML: numeric ones, and the names of the HTML standard.

import { decodeHTML } from 'entities/lib/decode.js'

/**
 * The character of the reference whose body stands between `&` and `;`. People forget the semicolon,
 * so a body without one counts too. Undefined for an unknown name or number.
 */
export function decodeEntity(body: string): string | undefined {
  const source = `&${body};`
  const decoded = decodeHTML(source)
  // The beginning of a word may be a name that needs no semicolon: "&notes;" is not a reference.
  const isCut = decoded.length > 1 && decoded.endsWith(';')
  return isCut ? undefined : decoded
}
