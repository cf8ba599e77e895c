/** The usual value for prose. Workers count the real tokens. */
const CHARS_PER_TOKEN = 4

/** Estimates the tokens of a text from its characters. Batches are formed before texts are tokenized. */
export function estimateTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN)
}
