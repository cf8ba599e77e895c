// Which requests the engine of vectors can read. One of another node may have any shape, and must not end
// a worker.

import {
  hasMembers,
  isCount,
  isNumber,
  isOptional,
  isVariantOf,
  type Check,
} from '../../host/plain-shape.ts'
import { NEAREST_LIMIT_MAX, type NearestRequest } from '../vector-search.ts'

const isWords: Check = (value) => value instanceof Uint32Array

const isVector: Check = (value) => {
  return value instanceof Float32Array && value.length > 0 && isFiniteVector(value)
}

/** The members of a request for the nearest documents, whatever the vectors are. */
export const SOUGHT_SHAPE = {
  limit: (value: unknown) =>
    isCount(value) && Number(value) >= 1 && Number(value) <= NEAREST_LIMIT_MAX,
  filter: isOptional(
    isVariantOf({
      list: { ordinals: isWords },
      bitmap: {
        from: (value) => isCount(value) && Number(value) % 32 === 0 && Number(value) < 2 ** 32,
        words: isWords,
      },
    }),
  ),
  nowMs: isNumber,
}

/** Each search asks: a loop of our own takes a tenth of the time of `every`. */
function isFiniteVector(vector: Float32Array): boolean {
  for (let i = 0; i < vector.length; i += 1) if (!Number.isFinite(vector[i])) return false
  return true
}

const isShaped = hasMembers({
  ...SOUGHT_SHAPE,
  vector: isVector,
  effort: (value) => isNumber(value) && Number(value) >= 0 && Number(value) <= 1,
  oversampling: isOptional((value) => isNumber(value) && Number(value) >= 1),
  distanceUnder: isOptional(isNumber),
  distanceOver: isOptional(isNumber),
})

export function isNearestRequest(request: unknown): request is NearestRequest {
  return isShaped(request)
}
