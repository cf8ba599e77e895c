import type { EngineFamily, FamilyParts } from '../../host/index-engine.ts'
import type { VectorIndexLimits } from '../engine/vector-index.ts'
import { BlockBuffer } from '../segment/row-vectors.ts'
import { VectorEngine } from './vector-engine.ts'

/** The share of the worker's memory that tails may hold: the rest is for the tables of segments. */
const TAILS_SHARE = 1 / 4

/** The engines of vectors of one worker: they share a bound for their tails, and a buffer to read into. */
export function openVectorFamily(
  { memoryBytesMax }: FamilyParts,
  limits?: VectorIndexLimits,
): EngineFamily {
  const buffer = new BlockBuffer()
  const parts = limits === undefined ? { buffer } : { buffer, limits }
  return {
    unflushedBytesMax: memoryBytesMax * TAILS_SHARE,
    *open(opening) {
      return { kind: 'open', engine: yield* VectorEngine.open(opening, parts) }
    },
    caches: () => ({}),
  }
}
