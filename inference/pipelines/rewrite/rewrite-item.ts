export interface RewriteItem {
  readonly text: string
}

export interface RewriteResult {
  /** The best first. */
  readonly texts: readonly string[]
}

const CHARS_PER_TOKEN = 4

/** About how many tokens the source has. */
export function costOfRewriteItem({ text }: RewriteItem): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN) + 1
}
