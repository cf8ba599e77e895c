// How many tokens a text has, about, without any vocabulary: one for each punctuation mark and each
// ideograph or syllable of East Asian scripts, and one for every five characters begun of any other
// word. Vocabularies differ from it, and from each other; limits of chunks need no more.

const CHARS_PER_TOKEN = 5
const SINGLE = /^[\p{P}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u
const SPACE = /^\s$/u

export function countTokens(text: string): number {
  let tokens = 0
  let wordLength = 0
  for (const character of text) {
    const kind = kindOf(character)
    if (kind === 'letter') {
      wordLength += 1
      continue
    }
    tokens += Math.ceil(wordLength / CHARS_PER_TOKEN) + (kind === 'single' ? 1 : 0)
    wordLength = 0
  }
  return tokens + Math.ceil(wordLength / CHARS_PER_TOKEN)
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
