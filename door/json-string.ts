// Strings within the bytes of a JSON text, found and read in steps.

import type { Sliced, StepMeter } from '../lib/sliced.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LETTER_U = 0x75
/** Decoded at once: less than a millisecond, also where all of it is escapes. */
const PIECE_BYTES = 64 * 1024

/** A string by its bytes, without the quotes. */
export interface StringPlace {
  readonly start: number
  readonly end: number
  /** Places to cut the string, which lie neither in a character nor in an escape. */
  readonly cuts: readonly number[]
}

/** The string whose first byte behind the quote is at `start`; undefined if it does not end. */
export function* findString(
  json: Buffer,
  start: number,
  meter: StepMeter,
): Sliced<StringPlace | undefined> {
  const cuts: number[] = []
  let at = start
  while (at < json.length) {
    const to = Math.min(json.length, at + PIECE_BYTES)
    const from = at
    while (at < to && json[at] !== QUOTE) at += json[at] === BACKSLASH ? escapeBytes(json, at) : 1
    if (at < to) return { start, end: at, cuts }
    while (isContinuation(json[at])) at += 1
    if (at < json.length) cuts.push(at)
    if (meter.spend(at - from)) yield undefined
  }
  return undefined
}

/** The text of the string. Throws the error of JSON.parse if it is malformed. */
export function* readString(
  json: Buffer,
  { start, end, cuts }: StringPlace,
  meter: StepMeter,
): Sliced<string> {
  // The runtime joins the pieces when a caller first reads the text, and copies all of it at once.
  let whole = ''
  let from = start
  for (const to of [...cuts, end]) {
    const text: string = JSON.parse(`"${json.toString('utf8', from, to)}"`)
    whole += text
    if (meter.spend(to - from)) yield undefined
    from = to
  }
  return whole
}

/** The length of the escape at `at`. An escape that is cut short makes the text malformed. */
function escapeBytes(json: Buffer, at: number): number {
  return json[at + 1] === LETTER_U ? 6 : 2
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
