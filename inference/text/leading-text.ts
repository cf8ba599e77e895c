// How much of a text is tokenized when only so many of its tokens are kept.

/** More characters than this for each token that a model takes are not looked at. */
export const CHARS_PER_TOKEN_MAX = 250
/** English has about 4.5 characters for a token, so this is mostly enough. */
const CHARS_PER_TOKEN_FIRST = 16
const CHARS_PER_TOKEN_GROWTH = 4
/** A cut changes tokens near it; those that are kept must be far from it. */
const TOKENS_BEHIND_CUT = 64
const WORD_CHARS_MAX = 256

/**
 * All tokens of a text, or of so much of it that there are more than enough. Most long texts are
 * cut, so their beginning is tried first. `tokenize` is given well-formed texts.
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

/** Whether a text is so long that its end is not looked at. */
export function isCut(text: string, tokensMax: number): boolean {
  return text.length > tokensMax * CHARS_PER_TOKEN_MAX
}

/** So much of a text that whoever looks at `tokensMax` tokens sees the same, and whether it is cut. */
export function lookedAt(text: string, tokensMax: number): string {
  return text.slice(0, tokensMax * CHARS_PER_TOKEN_MAX + 1)
}

/** Up to `chars` characters of a text, cut between words if there is a place nearby. */
function leadingPart(text: string, chars: number): string {
  if (chars >= text.length) return text
  const tail = text.slice(Math.max(0, chars - WORD_CHARS_MAX), chars)
  const spaceAt = Math.max(tail.lastIndexOf(' '), tail.lastIndexOf('\n'))
  return text.slice(0, spaceAt < 0 ? chars : chars - tail.length + spaceAt)
}
