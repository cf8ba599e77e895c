// Estimates the number of tokens of a text without a vocabulary: one for each punctuation mark and
// each ideograph or syllable of East Asian scripts, and one for each started group of five characters
// of any other word. Real vocabularies give other numbers; the limits of chunks need no exact one.

import { runAtOnce } from '../../lib/sliced.ts'
import type { Sliced } from '../../lib/sliced.ts'

const CHARS_PER_TOKEN = 5
/** Steps are short because East Asian characters are tested by regular expressions. */
const CHARS_PER_STEP = 4_096
const SINGLE = /^[\p{P}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u
const SPACE = /^\s$/u

/** Counts a whole text at once. */
export function countTokens(text: string): number {
  return runAtOnce(countTokensIn(text, { start: 0, end: text.length }))
}

/**
 * Counts a part of a text, in steps. Half of a surrogate pair at the border counts as a character.
 */
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

/** The index itself, or the next one if the index splits a surrogate pair. */
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

/** A printable ASCII character that is neither a letter nor a digit counts as punctuation. */
function kindOfAscii(code: number): 'space' | 'single' | 'letter' {
  if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return 'space'
  const isDigit = code >= 0x30 && code <= 0x39
  const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a
  return isDigit || isLetter || code < 0x20 || code === 0x7f ? 'letter' : 'single'
}
