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
  return value instanceof Float32Array && value.length > 0 && value.every(Number.isFinite)
}

const isShaped = hasMembers({
  vector: isVector,
  limit: (value) => isCount(value) && Number(value) >= 1 && Number(value) <= NEAREST_LIMIT_MAX,
  effort: (value) => isNumber(value) && Number(value) >= 0 && Number(value) <= 1,
  distanceUnder: isOptional(isNumber),
  distanceOver: isOptional(isNumber),
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
})

export function isNearestRequest(request: unknown): request is NearestRequest {
  return isShaped(request)
}

/** For `node/index/kinds`. */
export function isVectorRequest(question: string, request: unknown): boolean {
  return question === 'nearest' && isNearestRequest(request)
}
