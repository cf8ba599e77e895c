import type { SparseRow } from './artifact.ts'

/** More terms than models of sparse vectors give; a query of 4096 terms is searched with bounded memory. */
export const SPARSE_TERMS_MAX = 4096

/**
 * Why a sparse vector cannot be searched, for or with: the end of a sentence about it. Weights are impacts, at
 * least 0, because a term that a vector lacks counts as 0: with negative ones, documents that have nothing of the
 * query would be nearer than some that have.
 */
export function sparseProblem({
  terms,
  weights,
}: Pick<SparseRow, 'terms' | 'weights'>): string | undefined {
  if (terms.length > SPARSE_TERMS_MAX) {
    return `has ${terms.length} terms, and a sparse vector may have ${SPARSE_TERMS_MAX}`
  }
  const bad = weights.findIndex((weight) => !(weight >= 0 && weight < Infinity))
  if (bad >= 0) {
    return `has the weight ${weights[bad]} for term ${terms[bad]}, and weights must be at least 0`
  }
  if (weights.some((weight) => weight > 0)) return undefined
  return 'has no weight above 0, so that it would match nothing'
}
