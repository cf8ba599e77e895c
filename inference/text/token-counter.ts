// How many tokens a text has, about, without any vocabulary: one for each punctuation mark and each
// ideograph or syllable of East Asian scripts, and one for every five characters begun of any other
// word. Vocabularies differ from it, and from each other; limits of chunks need no more.

import { runAtOnce } from '../../lib/sliced.ts'
import type { Sliced } from '../../lib/sliced.ts'

const CHARS_PER_TOKEN = 5
/** Those of East Asian scripts are matched against expressions. */
const CHARS_PER_STEP = 4_096
const SINGLE = /^[\p{P}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u
const SPACE = /^\s$/u

export function countTokens(text: string): number {
  return runAtOnce(countTokensIn(text, { start: 0, end: text.length }))
}

/** Of a part of a text, in steps. A character that the part cuts through counts as its half would. */
export function* countTokensIn(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
): Sliced<number> {
  let tokens = 0
  let wordLength = 0
  for (let from = start; from < end;) {
    const to = characterBorder(text, Math.min(end, from + CHARS_PER_STEP), end)
    for (const character of text.slice(from, to)) {
      const kind = kindOf(character)
      if (kind === 'letter') {
        wordLength += 1
        continue
      }
      tokens += Math.ceil(wordLength / CHARS_PER_TOKEN) + (kind === 'single' ? 1 : 0)
      wordLength = 0
    }
    if (to < end) yield undefined
    from = to
  }
  return tokens + Math.ceil(wordLength / CHARS_PER_TOKEN)
}

/** Here, or one further where this is the middle of a character. */
function characterBorder(text: string, at: number, end: number): number {
  const isMiddle = at < end && (text.codePointAt(at - 1) ?? 0) > 0xffff
  return isMiddle ? at + 1 : at
}

function kindOf(character: string): 'space' | 'single' | 'letter' {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x80) return kindOfAscii(code)
  if (SINGLE.test(character)) return 'single'
  return SPACE.test(character) ? 'space' : 'letter'
}

/** Every printable ASCII character that is no letter and no digit counts as punctuation. */
function kindOfAscii(code: number): 'space' | 'single' | 'letter' {
  if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return 'space'
  const isDigit = code >= 0x30 && code <= 0x39
  const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a
  return isDigit || isLetter || code < 0x20 || code === 0x7f ? 'letter' : 'single'
}
