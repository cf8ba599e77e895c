import { FloatRows } from '../../../../../../node/index/vector/kernels/float-rows.ts'
import { describeRowBatch } from '../../../../../conformance/row-batch.ts'

/** As large as doubles would never need it: a sum of a thousand terms is wrong by some millionths. */
const MISSED_MAX = 1e-3

describe('rows of floats that are measured together', () => {
  const batch = new FloatRows()

  describeRowBatch((dimension) => {
    const add = (vectors: Float32Array, row: number): number => {
      return batch.add(vectors, row * dimension, vectors.length / dimension - row)
    }
    return { batch, add }
  }, MISSED_MAX)
})
