// The stored form of a document: the client's own bytes, without insignificant white space and
// without duplicate members.

import { parseExact, stringifyExact } from './exact-json.ts'
import type { ValueShape } from './json-scanner.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20

/** `shape` is what the scanner told about a value in `bytes`. Copies only if there is a reason. */
export function compactJson(bytes: Buffer, shape: ValueShape): Buffer {
  const value = bytes.subarray(shape.start, shape.end)
  // Parsing keeps the last of several members of one name, as every JSON parser does.
  if (shape.hasDuplicates) return Buffer.from(stringifyExact(parseExact(value)), 'utf8')
  return shape.hasWhitespace ? withoutWhitespace(value) : value
}

function withoutWhitespace(value: Buffer): Buffer {
  const compact = Buffer.allocUnsafe(value.length)
  let length = 0
  let inString = false
  let isEscaped = false
  for (const byte of value) {
    if (inString) {
      if (isEscaped) isEscaped = false
      else if (byte === BACKSLASH) isEscaped = true
      else inString = byte !== QUOTE
    } else if (byte <= SPACE) {
      continue
    } else {
      inString = byte === QUOTE
    }
    compact[length++] = byte
  }
  return compact.subarray(0, length)
}
