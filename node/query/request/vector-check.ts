import { refuse } from '../query-limits.ts'
import type { SentVector } from './vector-form.ts'

/** How far two vectors are apart. `inner_product` is negated, so that smaller is nearer for each. */
export type Metric = 'l2_squared' | 'inner_product' | 'cosine'

/** What a vector has to be for an index to compare with it. */
export interface VectorSpace {
  readonly dimension: number
  readonly metric: Metric
}

/** The vector itself. Throws INVALID_ARGUMENT if it does not fit the index. */
export function checkVector(sent: SentVector, space: VectorSpace, where: string): Float32Array {
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
