/** Of prose in most tokenizers. The worker counts the tokens that an item really has. */
const CHARS_PER_TOKEN = 4

/** About how many tokens a text has. Batches are formed by it, before a worker tokenizes the text. */
export function estimateTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN)
}

/**
 * The text that a model runs once when it is loaded, cut to the model's limit: the tokens of one
 * batch by default. A graph that cannot run what its configuration promises fails then and not at a
 * client's request, and the memory of a usual batch is there before the first one comes.
 */
export const WARM_UP_TEXT = 'a '.repeat(512)
