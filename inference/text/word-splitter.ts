/** A word of a text and where it stands, in UTF-16 code units. */
export interface Word {
  readonly text: string
  readonly start: number
  readonly end: number
}

// The rule of the reference implementation of GLiNER: word characters, with inner hyphens and
// underscores, or any single character that is no white space (a combining mark is such a character
// there, so it is one here). Every alternative consumes what it
// meets and never gives back, so the time is linear.
const WORD = /[\p{L}\p{N}_]+(?:[-_][\p{L}\p{N}_]+)*|\S/gu

export function splitWords(text: string): Word[] {
  return Array.from(text.matchAll(WORD), (match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }))
}
