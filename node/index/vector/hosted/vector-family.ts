import type { EngineFamily, FamilyParts, OnWork } from '../../host/index-engine.ts'
import { BuilderThread } from '../building/builder-thread.ts'
import type { GraphBuilder } from '../building/graph-job.ts'
import type { VectorIndexLimits } from '../engine/vector-index.ts'
import { Kernels } from '../kernels/code-memory.ts'
import { VectorMemory } from '../files/vector-memory.ts'
import { openDenseEngine } from './dense-engine.ts'

/** The shares of the worker's memory for tails and for vectors of segments; the rest is for their tables. */
const TAILS_SHARE = 1 / 4
const VECTORS_SHARE = 1 / 2

/** What tests choose. */
export interface VectorFamilyOptions {
  readonly limits?: VectorIndexLimits
  /** Default: a thread of the family's own. */
  readonly builder?: GraphBuilder
}

/** The engines of vectors of one worker: they share bounds for what they keep in memory, and a thread for graphs. */
export function openVectorFamily(
  { memoryBytesMax, disk }: FamilyParts,
  { limits, builder = new BuilderThread() }: VectorFamilyOptions = {},
): EngineFamily {
  const memory = new VectorMemory(memoryBytesMax * VECTORS_SHARE)
  const parts = {
    memory,
    builder,
    disk,
    kernels: new Kernels(),
    ...(limits === undefined ? {} : { limits }),
  }
  return {
    unflushedBytesMax: memoryBytesMax * TAILS_SHARE,
    *open(opening, onWork = nobody) {
      return { kind: 'open', engine: yield* openDenseEngine(opening, { ...parts, onWork }) }
    },
    caches() {
      const { hits, misses, bytes } = memory
      return { vectors: { hits, misses, bytes } }
    },
  }
}

/** The caller that opened the index asks `maintain` again by itself. */
const nobody: OnWork = () => undefined
