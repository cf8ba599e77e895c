// Character references of HTML: numeric ones, and the names of the HTML standard.

import { decodeHTML } from 'entities/lib/decode.js'

/** What stands between `&` and `;`. Undefined for a name or number that is none. */
export function decodeEntity(body: string): string | undefined {
  if (!body.startsWith('#')) return decodeName(body)
  const isHexadecimal = body[1] === 'x' || body[1] === 'X'
  const code = isHexadecimal ? parseInt(body.slice(2), 16) : parseInt(body.slice(1), 10)
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : undefined
}

/** People forget the semicolon: a name is one without it, too. */
function decodeName(name: string): string | undefined {
  const source = `&${name};`
  const decoded = decodeHTML(source)
  // The beginning of a word may be a name that needs no semicolon: "&notes;" is none.
  return decoded === source || decoded.endsWith(';') ? undefined : decoded
}
