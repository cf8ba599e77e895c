import { estimateTokens } from '../token-estimate.ts'

/** A document to score against a query. */
export interface RerankItem {
  readonly query: string
  readonly document: string
}

/** The relevance of a document to its query. */
export interface RerankResult {
  /** From 0 to 1. */
  readonly score: number
  /** The logit; `score` is its sigmoid. */
  readonly rawScore: number
  /** Whether the pair was longer than the model reads, so that the end of the query or of the document was left out. */
  readonly isCut: boolean
}

/** The estimated number of tokens of the pair. */
export function costOfRerankItem({ query, document }: RerankItem): number {
  return estimateTokens(query.length + document.length) + 3
}
