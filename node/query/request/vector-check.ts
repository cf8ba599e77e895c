import type { DenseIndexSettings } from '../../embedding/settings.ts'
import { sparseProblem } from '../../embedding/sparse-rules.ts'
import type { WrittenVector } from '../../embedding/vector-forms.ts'
import { refuse } from '../query-limits.ts'

/** What dense vectors have to be for an index to compare with them. */
export type DenseSpace = Pick<DenseIndexSettings, 'dimension' | 'metric'> & {
  readonly sparse: false
}

/** What a vector has to be for an index to compare with it. */
export type VectorSpace = DenseSpace | { readonly sparse: true }

/** The vector itself. Throws INVALID_ARGUMENT if it does not fit the index. */
export function checkVector<Vector extends WrittenVector>(
  sent: Vector,
  space: VectorSpace,
  where: string,
): Vector {
  const problem = space.sparse ? problemAmongSparse(sent) : problemAmongDense(sent, space)
  return problem === undefined ? sent : refuse(where, problem)
}

function problemAmongSparse(sent: WrittenVector): string | undefined {
  if (sent.kind === 'sparse') return sparseProblem(sent)
  return `is dense, with ${sent.vector.length} numbers, and the index has sparse vectors: terms with weights`
}

function problemAmongDense(
  sent: WrittenVector,
  { dimension, metric }: DenseSpace,
): string | undefined {
  if (sent.kind === 'sparse') {
    return `is sparse, and the index has dense vectors of ${dimension} numbers`
  }
  const { vector } = sent
  if (vector.length !== dimension) {
    return `has ${vector.length} numbers, and the vectors of the index have ${dimension}`
  }
  if (metric !== 'cosine' || vector.some((one) => one !== 0)) return undefined
  return 'is all zeros, which has no direction; an index by cosine compares directions'
}
