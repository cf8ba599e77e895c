/** A word of a text with its span in UTF-16 code units. */
export interface Word {
  readonly text: string
  readonly start: number
  readonly end: number
}

// The rule of GLiNER's reference implementation: word characters with inner hyphens and underscores,
// or any single character that is not white space. As there, a combining mark is such a character.
// Neither alternative backtracks, so the time is linear.
const WORD = /[\p{L}\p{N}_]+(?:[-_][\p{L}\p{N}_]+)*|\S/gu

/** The words of a text in order. */
export function splitWords(text: string): Word[] {
  return Array.from(text.matchAll(WORD), (match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }))
}
