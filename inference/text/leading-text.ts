// Tokenizes only the beginning of a long text when only its first tokens are kept.

/** At most this many characters are read for each token that a model takes. */
export const CHARS_PER_TOKEN_MAX = 250
/** English has about 4.5 characters for a token, so the first attempt is usually enough. */
const CHARS_PER_TOKEN_FIRST = 16
const CHARS_PER_TOKEN_GROWTH = 4
/** A cut can change the tokens near it, so the kept tokens must end this far before it. */
const TOKENS_BEHIND_CUT = 64
const WORD_CHARS_MAX = 256

/**
 * The tokens of a text, at least its first `tokensMax`, or all if it has fewer. It tries a short
 * beginning first, because most long texts are truncated. `tokenize` receives well-formed texts.
 */
export function tokenizeLeading(
  text: string,
  tokensMax: number,
  tokenize: (part: string) => readonly number[],
): readonly number[] {
  const charsMax = Math.min(text.length, tokensMax * CHARS_PER_TOKEN_MAX)
  for (let chars = tokensMax * CHARS_PER_TOKEN_FIRST; ; chars *= CHARS_PER_TOKEN_GROWTH) {
    const ids = tokenize(leadingPart(text, Math.min(chars, charsMax)).toWellFormed())
    if (chars >= charsMax || ids.length > tokensMax + TOKENS_BEHIND_CUT) return ids
  }
}

/** Whether the end of a text is never read: it has more characters than `tokensMax` tokens can. */
export function isCut(text: string, tokensMax: number): boolean {
  return text.length > tokensMax * CHARS_PER_TOKEN_MAX
}

/** The beginning of a text that decides its first `tokensMax` tokens, and whether it is cut. */
export function relevantPrefix(text: string, tokensMax: number): string {
  return text.slice(0, tokensMax * CHARS_PER_TOKEN_MAX + 1)
}

/** The first `chars` characters of a text, cut at a space if one is near. */
function leadingPart(text: string, chars: number): string {
  if (chars >= text.length) return text
  const tail = text.slice(Math.max(0, chars - WORD_CHARS_MAX), chars)
  const spaceAt = Math.max(tail.lastIndexOf(' '), tail.lastIndexOf('\n'))
  return text.slice(0, spaceAt < 0 ? chars : chars - tail.length + spaceAt)
}
