// Graphs of the library faiss, where its optional package has been built. They are loaded into memory: the package
// maps no files.

import { createRequire } from 'node:module'
import type * as Faiss from 'faiss-node'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Quantization } from '../../../embedding/settings.ts'
import { libraryError } from './library-error.ts'
import type {
  GraphHits,
  GraphLibrary,
  GraphShape,
  GraphVector,
  GrowingGraph,
  VectorGraph,
} from './vector-graph.ts'

/**
 * Neighbours of a row, twice as many in the lowest layer; and how the rows are kept. With 16, a graph that grows in
 * batches found 0.91 of the ten nearest of 720 rows of 24 numbers, and with 32 it finds 0.99.
 */
const FACTORY: Readonly<Record<Quantization, string | undefined>> = {
  f32: 'HNSW32,Flat',
  f16: 'HNSW32,SQfp16',
  i8: 'HNSW32,SQ8',
  binary: undefined,
}
const BYTES: Readonly<Record<Quantization, number>> = { f32: 4, f16: 2, i8: 1, binary: 0 }
/** Neighbours and level of a row, about. */
const NODE_BYTES = 290
/** Each call of the library that adds rows makes a lock for each row that it has. */
const ADDED_TOGETHER_MIN = 64
const ADDED_TOGETHER_SHARE = 16
/** What a quantizer makes for `i8`; the library learns its range from it. */
const I8_MAX = 127

export const FAISS: GraphLibrary = {
  grow: (shape, rowCount) => new GrowingFaiss(newIndex(shape), { shape, rowCount }),
  extend(shape, path) {
    const index = readIndex(path)
    return new GrowingFaiss(index, { shape, rowCount: index.ntotal() })
  },
  view(shape, path) {
    const index = readIndex(path)
    return new FaissGraph(index, bytesOf(shape, index.ntotal()))
  },
}

/** Whether the package and its binary are there. */
export function hasFaiss(): boolean {
  try {
    loadFaiss()
    return true
  } catch {
    return false
  }
}

class FaissGraph implements VectorGraph {
  readonly bytesInMemory: number
  readonly #index: Faiss.Index

  constructor(index: Faiss.Index, bytesInMemory: number) {
    this.#index = index
    this.bytesInMemory = bytesInMemory
  }

  search(vector: GraphVector, count: number): GraphHits {
    const wanted = Math.min(count, this.#index.ntotal())
    const { labels } = this.#index.search(Array.from(vector), wanted)
    // Rows that the search did not reach are -1.
    return { rows: Uint32Array.from(labels.filter((label) => label >= 0)) }
  }

  /** It is all in memory, which the library leaves to the garbage collector. */
  close(): void {}
}

/** What a growing graph knows of itself. */
interface GrowingOptions {
  readonly shape: GraphShape
  readonly rowCount: number
}

class GrowingFaiss implements GrowingGraph {
  readonly #index: Faiss.Index
  readonly #with: GrowingOptions
  readonly #waiting: number[] = []

  constructor(index: Faiss.Index, options: GrowingOptions) {
    this.#index = index
    this.#with = options
  }

  /** The library numbers rows by their order. */
  add(_: number, vector: GraphVector): void {
    for (const value of vector) this.#waiting.push(value)
    const rows = this.#waiting.length / this.#with.shape.dimension
    const enough = Math.max(ADDED_TOGETHER_MIN, this.#index.ntotal() / ADDED_TOGETHER_SHARE)
    if (rows >= enough) this.#addWaiting()
  }

  save(path: string): void {
    this.#addWaiting()
    try {
      this.#index.write(path)
    } catch (error) {
      throw libraryError(error, 'a graph of vectors could not be written')
    }
  }

  finish(): VectorGraph {
    this.#addWaiting()
    const { shape, rowCount } = this.#with
    return new FaissGraph(this.#index, bytesOf(shape, rowCount))
  }

  #addWaiting(): void {
    if (this.#waiting.length === 0) return
    this.#index.add(this.#waiting)
    this.#waiting.length = 0
  }
}

function newIndex({ dimension, metric, quantization }: GraphShape): Faiss.Index {
  const { Index, MetricType } = loadFaiss()
  const descriptor = FACTORY[quantization]
  if (descriptor === undefined || metric === 'hamming') {
    throw new ServiceError('INVALID_ARGUMENT', `faiss has no graphs of ${quantization} vectors`)
  }
  const isProduct = metric === 'inner_product'
  const kind = isProduct ? MetricType.METRIC_INNER_PRODUCT : MetricType.METRIC_L2
  const index = Index.fromFactory(dimension, descriptor, kind)
  if (!index.isTrained()) {
    const ends = [-I8_MAX, I8_MAX].flatMap((end) => Array.from({ length: dimension }, () => end))
    index.train(ends)
  }
  return index
}

function readIndex(path: string): Faiss.Index {
  try {
    return loadFaiss().Index.read(path)
  } catch (error) {
    throw libraryError(error, 'a graph of vectors could not be loaded')
  }
}

function bytesOf({ dimension, quantization }: GraphShape, rowCount: number): number {
  return rowCount * (dimension * BYTES[quantization] + NODE_BYTES)
}

/** When the first graph is made or opened. Throws where the package was not built. */
function loadFaiss(): typeof Faiss {
  return createRequire(import.meta.url)('faiss-node')
}
