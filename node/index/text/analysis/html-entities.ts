// Character references of HTML: numeric ones, and the names of the HTML standard.

import { decodeHTML } from 'entities/lib/decode.js'

/** Decodes the text between `&` and `;`. Answers undefined for an unknown name or number. */
export function decodeEntity(body: string): string | undefined {
  if (!body.startsWith('#')) return decodeName(body)
  const isHexadecimal = body[1] === 'x' || body[1] === 'X'
  const code = isHexadecimal ? parseInt(body.slice(2), 16) : parseInt(body.slice(1), 10)
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : undefined
}

/** Accepts a name without its semicolon, because people forget it. */
function decodeName(name: string): string | undefined {
  const source = `&${name};`
  const decoded = decodeHTML(source)
  // The beginning of a word may be a name that needs no semicolon. But "&notes;" is not a
  // reference.
  return decoded === source || decoded.endsWith(';') ? undefined : decoded
}
