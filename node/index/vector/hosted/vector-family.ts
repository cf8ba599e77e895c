import type { EngineFamily, FamilyParts, OnWork } from '../../host/index-engine.ts'
import { BuilderThread } from '../graph/builder-thread.ts'
import type { GraphBuilder } from '../graph/graph-job.ts'
import type { VectorIndexLimits } from '../engine/vector-index.ts'
import { BlockBuffer } from '../segment/row-vectors.ts'
import { VectorEngine } from './vector-engine.ts'

/** The share of the worker's memory that tails may hold: the rest is for the tables of segments. */
const TAILS_SHARE = 1 / 4

/** What tests choose. */
export interface VectorFamilyOptions {
  readonly limits?: VectorIndexLimits
  /** Default: a thread of the family's own. */
  readonly builder?: GraphBuilder
}

/** The engines of vectors of one worker: they share a bound for their tails, a buffer, and a thread for graphs. */
export function openVectorFamily(
  { memoryBytesMax }: FamilyParts,
  { limits, builder = new BuilderThread() }: VectorFamilyOptions = {},
): EngineFamily {
  const buffer = new BlockBuffer()
  const parts = { buffer, builder, ...(limits === undefined ? {} : { limits }) }
  return {
    unflushedBytesMax: memoryBytesMax * TAILS_SHARE,
    *open(opening, onWork = nobody) {
      return { kind: 'open', engine: yield* VectorEngine.open(opening, { ...parts, onWork }) }
    },
    caches: () => ({}),
  }
}

/** The caller that opened the index asks `maintain` again by itself. */
const nobody: OnWork = () => undefined
