// The real kinds of segmented indexes, whose memory is full after a few documents and whose segments are merged all the time.

import { ManualClock } from '../../../lib/clock.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import type { EngineFamily } from '../../../node/index/host/index-engine.ts'
import type { DiskWork } from '../../../node/index/files/disk-work.ts'
import type { RowsIndexLimits } from '../../../node/index/rows/row-segments.ts'
import { openSparseFamily } from '../../../node/index/sparse/hosted/sparse-family.ts'
import { TextMemory } from '../../../node/index/text/engine/text-memory.ts'
import { TextEngine } from '../../../node/index/text/hosted/text-engine.ts'
import { unpackAnswer, type PackedAnswer } from '../../../node/index/text/search/packed-answer.ts'
import type { TextSearchAnswer } from '../../../node/index/text/search/text-search.ts'
import { BUILDS_HERE } from '../../../node/index/vector/building/graph-job.ts'
import { openVectorFamily } from '../../../node/index/vector/hosted/vector-family.ts'
import type { EngineUnderTest } from './opened-engine.ts'
import {
  putSparse,
  recordedSparse,
  sparse,
  SPARSE_SETTINGS,
  sparseNearestTo,
} from './sparse-world.ts'
import { textSearch } from './text-shard.ts'
import { TINY_LIMITS } from './text-world.ts'
import {
  keysOfHits,
  nearestTo,
  putVectors,
  recordedSettings,
  vectorOfWords,
  WORDS_DIMENSION,
} from './vector-documents.ts'

/** A kind whose segments and memory are small. */
export interface SegmentedUnderTest extends EngineUnderTest {
  /** Documents of so many bytes in memory are flushed. */
  readonly memoryBytesMax: number
}

const MEMORY_BYTES = 2 ** 22

const ROWS_LIMITS: RowsIndexLimits = {
  tailBytesMax: 6 * 2 ** 10,
  tailRowsMax: 1000,
  mergePolicy: {
    graphRowsMin: 16,
    settledGraphRowsMin: 16,
    tierCount: 2,
    listedRowsMin: 24,
    rowsMax: 100_000,
    deletedRatioMax: 0.2,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}

const partsOn = (disk: DiskWork) => {
  return { clock: new ManualClock(), memoryBytesMax: MEMORY_BYTES, disk }
}

function openSmallText(disk: DiskWork): EngineFamily {
  const memory = new TextMemory(MEMORY_BYTES)
  const clock = new ManualClock()
  return {
    unflushedBytesMax: memory.segmentBytesMax,
    *open(opening, onWork = () => undefined) {
      const parts = { clock, memory, disk, onWork, limits: TINY_LIMITS }
      return { kind: 'open', engine: yield* TextEngine.openInSteps(opening, parts) }
    },
    caches: () => ({}),
  }
}

/** Each document has an ordinal of its own, as a shard gives them. */
class Ordinals {
  readonly #known = new Map<string, number>()

  of(key: string): number {
    const ordinal = this.#known.get(key) ?? this.#known.size
    this.#known.set(key, ordinal)
    return ordinal
  }
}

const ordinals = new Ordinals()
const SPARSE_WORDS = ['tide', 'road']
const sparseOf = (text: string) =>
  sparse(Object.fromEntries(text.split(' ').map((word) => [SPARSE_WORDS.indexOf(word) + 1, 1])))

function denseKind(engine: 'exact' | 'usearch'): SegmentedUnderTest {
  const shape = {
    dimension: WORDS_DIMENSION,
    metric: 'inner_product',
    quantization: 'f16',
  } as const
  const quantization = engine === 'exact' ? 'f32' : 'f16'
  return {
    kind: 'vectors',
    openFamily: (disk) =>
      openVectorFamily(partsOn(disk), { limits: ROWS_LIMITS, builder: BUILDS_HERE }),
    settings: recordedSettings({ ...shape, engine, quantization }),
    change: (key, text) =>
      putVectors({ key, ordinal: ordinals.of(key), rows: [{ vector: vectorOfWords(text) }] }),
    merges: true,
    answers: ['nearest'],
    find: (word) => nearestTo(vectorOfWords(word), { limit: 1000, distanceUnder: -0.5 }),
    keysOf: keysOfHits,
    isVital: () => true,
    memoryBytesMax: ROWS_LIMITS.tailBytesMax,
  }
}

export const SEGMENTED_KINDS: Readonly<Record<string, SegmentedUnderTest>> = {
  text: {
    kind: 'text',
    openFamily: openSmallText,
    merges: true,
    answers: ['search'],
    find: textSearch,
    received: (answer: PackedAnswer) => runAtOnce(unpackAnswer(answer)),
    keysOf: (answer: TextSearchAnswer) => answer.hits.map(({ key }) => Buffer.from(key).toString()),
    isVital: () => true,
    memoryBytesMax: TINY_LIMITS.memorySegmentBytesMax,
  },
  'dense vectors': denseKind('exact'),
  'dense vectors with graphs': denseKind('usearch'),
  'sparse vectors': {
    kind: 'vectors',
    openFamily: (disk) => openSparseFamily(partsOn(disk), ROWS_LIMITS),
    settings: recordedSparse(SPARSE_SETTINGS),
    change: (key, text) => putSparse({ key, ordinal: ordinals.of(key), vectors: [sparseOf(text)] }),
    merges: true,
    answers: ['nearest'],
    find: (word) => sparseNearestTo(sparseOf(word), { limit: 1000 }),
    keysOf: (answer) => keysOfHits(Object(answer)),
    isVital: () => true,
    memoryBytesMax: ROWS_LIMITS.tailBytesMax,
  },
}
