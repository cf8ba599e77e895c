import type { StepMeter, Sliced } from '../../../lib/sliced.ts'

/** A slice of a text, in UTF-16 code units. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

/** Matches white space beyond ASCII. */
const WIDE_SPACE = /\s/
/** The meter is charged once for this many characters. */
const STRETCH_CHARS = 1_024

/** The first run of characters without white space in a range; undefined if there is none. */
export function* nextWord(
  text: string,
  { start, end }: TextRange,
  meter: StepMeter,
): Sliced<TextRange | undefined> {
  const from = yield* endOfAlike(text, { start, end, isSpace: true }, meter)
  if (from === end) return undefined
  return { start: from, end: yield* endOfAlike(text, { start: from, end, isSpace: false }, meter) }
}

/** The end of the run of white space, or of other characters, that begins at `start`. */
function* endOfAlike(
  text: string,
  { start, end, isSpace }: TextRange & { readonly isSpace: boolean },
  meter: StepMeter,
): Sliced<number> {
  for (let from = start; ;) {
    const to = Math.min(end, from + STRETCH_CHARS)
    let at = from
    while (at < to && isSpaceAt(text, at) === isSpace) at += 1
    if (at < to || to === end) return at
    if (meter.spend(to - from)) yield undefined
    from = to
  }
}

function isSpaceAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d)
  return code >= 0xa0 && WIDE_SPACE.test(text.charAt(at))
}
