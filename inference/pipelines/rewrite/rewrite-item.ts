import { estimateTokens } from '../token-estimate.ts'

/** One text to rewrite. */
export interface RewriteItem {
  readonly text: string
}

/** The rewritten texts of one item. */
export interface RewriteResult {
  /** The texts, the best first. */
  readonly texts: readonly string[]
  /** Whether the model has not read the end of the input. */
  readonly isCut: boolean
}

/** The estimated number of tokens of the source. */
export function costOfRewriteItem({ text }: RewriteItem): number {
  return estimateTokens(text.length) + 1
}
