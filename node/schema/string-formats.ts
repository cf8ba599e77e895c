// The formats of strings. Each has a maximum length, up to which its test is fast for every string.
// A longer string does not have the format.

import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { Format } from 'ajv'

/** One format, with the length up to which its test is fast. */
export interface StringFormat {
  /** In UTF-16 code units. */
  readonly lengthMax: number
  readonly test: (text: string) => boolean
}

const LENGTH_MAX = 4096

const LENGTH_MAX_BY_NAME: ReadonlyMap<string, number> = new Map([
  // The tests of these formats backtrack, so their time grows with the square of the length.
  ['email', 320],
  ['url', 1024],
  ['regex', 1024],
  // Base64, possibly of an image.
  ['byte', 1024 * 1024],
])

const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>(Object.entries(fullFormats))

/** Undefined for an unknown format, and for a format of other types than strings. */
export function formatOf(name: string): StringFormat | undefined {
  const test = testOf(FORMATS.get(name))
  if (test === undefined) return undefined
  return { lengthMax: LENGTH_MAX_BY_NAME.get(name) ?? LENGTH_MAX, test }
}

function testOf(format: Format | undefined): ((text: string) => boolean) | undefined {
  if (format === undefined || typeof format === 'string' || format === true) return undefined
  if (format instanceof RegExp) return (text) => format.test(text)
  if (typeof format === 'function') return (text) => format(text)
  if (format.type === 'number') return undefined
  const { validate } = format
  if (validate instanceof RegExp) return (text) => validate.test(text)
  if (typeof validate === 'string') return undefined
  return (text) => Reflect.apply(validate, undefined, [text]) === true
}
