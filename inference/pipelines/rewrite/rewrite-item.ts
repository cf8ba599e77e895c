import { estimateTokens } from '../token-estimate.ts'

export interface RewriteItem {
  readonly text: string
}

export interface RewriteResult {
  /** The best first. */
  readonly texts: readonly string[]
}

/** About how many tokens the source has. */
export function costOfRewriteItem({ text }: RewriteItem): number {
  return estimateTokens(text.length) + 1
}
