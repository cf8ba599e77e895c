// Which requests the engine of sparse vectors can read. One of another node may have any shape, and must not end
// a worker.

import { sparseProblem } from '../../../embedding/sparse-rules.ts'
import { hasMembers, type Check } from '../../host/plain-shape.ts'
import { SOUGHT_SHAPE } from '../../vector/hosted/vector-request-shape.ts'
import type { SparseRequest } from '../../vector/vector-search.ts'

const isSparseVector: Check = (value) => {
  if (typeof value !== 'object' || value === null) return false
  if (!('terms' in value) || !('weights' in value)) return false
  const { terms, weights } = value
  if (!(terms instanceof Uint32Array) || !(weights instanceof Float32Array)) return false
  if (terms.length !== weights.length || sparseProblem({ terms, weights }) !== undefined) {
    return false
  }
  return terms.every((term, at) => at === 0 || term > (terms[at - 1] ?? term))
}

const isShaped = hasMembers({ ...SOUGHT_SHAPE, vector: isSparseVector })

export function isSparseRequest(request: unknown): request is SparseRequest {
  return isShaped(request)
}
