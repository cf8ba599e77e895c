// How many values a JSON text has. A value takes two bytes of a body and fifty of memory, and building
// millions of them holds up every other request for seconds, so they are counted before.

/** 2048 messages with their parts and calls have a tenth of it. */
export const VALUES_MAX = 256 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** What stands before each value but the first: a comma, or the beginning of a list or an object. */
const BEFORE_VALUES: ReadonlySet<number> = new Set([0x2c, 0x5b, 0x7b])

/** Counts in one pass over what is not within strings; texts that are no JSON may be miscounted. */
export function hasTooManyValues(json: Buffer, valuesMax: number = VALUES_MAX): boolean {
  if (json.length <= valuesMax) return false
  let values = 1
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0
    if (byte === QUOTE) at = endOfString(json, at)
    else if (BEFORE_VALUES.has(byte)) values += 1
    if (values > valuesMax) return true
  }
  return false
}

/** Where the string ends that begins at `start`. */
function endOfString(json: Buffer, start: number): number {
  let end = json.indexOf(QUOTE, start + 1)
  while (end >= 0 && isEscaped(json, end)) end = json.indexOf(QUOTE, end + 1)
  return end < 0 ? json.length : end
}

function isEscaped(json: Buffer, quote: number): boolean {
  let at = quote - 1
  while (json[at] === BACKSLASH) at -= 1
  return (quote - 1 - at) % 2 === 1
}
