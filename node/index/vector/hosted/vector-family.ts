import type { EngineFamily, FamilyParts, OnWork } from '../../host/index-engine.ts'
import { BuilderThreads } from '../building/builder-thread.ts'
import type { GraphBuilder } from '../building/graph-job.ts'
import type { RowsIndexLimits } from '../../rows/row-segments.ts'
import { Kernels } from '../kernels/code-memory.ts'
import { BlockMemory } from '../files/block-memory.ts'
import { openDenseEngine } from './dense-engine.ts'

/** The shares of the worker's memory for tails and for vectors of segments; the rest is for their tables. */
const TAILS_SHARE = 1 / 4
const VECTORS_SHARE = 1 / 2
/** A million vectors of 384 numbers as `f16`. One graph is searched in half the time of two. */
const GRAPH_BYTES_MAX = 2 ** 30
/** A graph is in memory only while it is extended: it may be larger than the memory for searches. */
const GRAPH_SHARE = 2

/** What tests choose. */
export interface VectorFamilyOptions {
  readonly limits?: RowsIndexLimits
  /** Default: threads of the family's own. */
  readonly builder?: GraphBuilder
}

/** The engines of vectors of one worker: they share bounds for what they keep in memory, and threads for graphs. */
export function openVectorFamily(
  { memoryBytesMax, disk, answering }: FamilyParts,
  { limits, builder = new BuilderThreads(answering) }: VectorFamilyOptions = {},
): EngineFamily {
  const memory = new BlockMemory(memoryBytesMax * VECTORS_SHARE)
  const parts = {
    memory,
    builder,
    disk,
    graphBytesMax: Math.min(GRAPH_BYTES_MAX, memoryBytesMax * GRAPH_SHARE),
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
