// Character references of HTML: numeric ones, and the names of the HTML standard.

import { decodeHTML } from 'entities/lib/decode.js'

/** Nearly all references of real pages; the decoder of all 2,231 takes ten times as long. */
const COMMON: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['gt', '>'],
  ['lt', '<'],
  ['nbsp', '\u00a0'],
  ['quot', '"'],
  ['#39', "'"],
])

/**
 * The character of the reference whose body stands between `&` and `;`. People forget the semicolon,
 * so a body without one counts too. Undefined for an unknown name or number.
 */
export function decodeEntity(body: string): string | undefined {
  const common = COMMON.get(body)
  if (common !== undefined) return common
  const source = `&${body};`
  const decoded = decodeHTML(source)
  // The beginning of a word may be a name that needs no semicolon: "&notes;" is not a reference.
  const isCut = decoded.length > 1 && decoded.endsWith(';')
  return isCut ? undefined : decoded
}
