import { estimateTokens } from '../token-estimate.ts'

/** How well does a document answer a query? */
export interface RerankItem {
  readonly query: string
  readonly document: string
}

export interface RerankResult {
  /** From 0 to 1. */
  readonly score: number
  /** The logit whose sigmoid the score is. */
  readonly rawScore: number
}

/** About how many tokens the pair has. */
export function costOfRerankItem({ query, document }: RerankItem): number {
  return estimateTokens(query.length + document.length) + 3
}
