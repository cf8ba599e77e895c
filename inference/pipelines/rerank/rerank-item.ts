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

const CHARS_PER_TOKEN = 4

/** About how many tokens the pair has. */
export function costOfRerankItem({ query, document }: RerankItem): number {
  return Math.ceil((query.length + document.length) / CHARS_PER_TOKEN) + 3
}
