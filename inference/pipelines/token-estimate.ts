/** The usual value for prose. Workers count the real tokens. */
const CHARS_PER_TOKEN = 4

/** Estimates the tokens of a text from its characters. Batches are formed before texts are tokenized. */
export function estimateTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN)
}

/**
 * The text that a model runs once while it is loaded, truncated to the model's limit. It has as many
 * tokens as a default batch. So a graph that contradicts its configuration fails at its load, and the
 * memory of a usual batch is allocated before the first request.
 */
export const WARM_UP_TEXT = 'a '.repeat(512)
