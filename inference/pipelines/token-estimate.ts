/** Of prose in most tokenizers. What an item really has, its worker counts. */
const CHARS_PER_TOKEN = 4

/** About how many tokens so many characters are: what batches are sorted by before anybody tokenizes. */
export function estimateTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN)
}
