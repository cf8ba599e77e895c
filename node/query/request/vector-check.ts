import type { DenseIndexSettings } from '../../embedding/settings.ts'
import type { WrittenVector } from '../../embedding/vector-forms.ts'
import { refuse } from '../query-limits.ts'

/** What a vector has to be for an index to compare with it. */
export type VectorSpace = Pick<DenseIndexSettings, 'dimension' | 'metric'>

/** The vector itself. Throws INVALID_ARGUMENT if it does not fit the index. */
export function checkVector(sent: WrittenVector, space: VectorSpace, where: string): Float32Array {
  const { dimension, metric } = space
  if (sent.kind === 'sparse') {
    return refuse(where, `is sparse, and the index has dense vectors of ${dimension} numbers`)
  }
  const { vector } = sent
  if (vector.length !== dimension) {
    refuse(where, `has ${vector.length} numbers, and the vectors of the index have ${dimension}`)
  }
  if (metric === 'cosine' && vector.every((one) => one === 0)) {
    refuse(where, 'is all zeros, which has no direction; an index by cosine compares directions')
  }
  return vector
}
