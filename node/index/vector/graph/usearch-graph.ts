// Graphs of the library usearch.

import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as Usearch from 'usearch'
import { COARSE_BYTE_MAX } from './coarse-byte.ts'
import { libraryError } from './library-error.ts'
import { I8_MAX } from './quantizer.ts'
import {
  graphRowBytes,
  type GraphHits,
  type GraphLibrary,
  type GraphShape,
  type GraphVector,
  type GrowingGraph,
  type VectorGraph,
} from './vector-graph.ts'

/** Neighbours of a row: the library's default, twice as many in the lowest layer. */
const CONNECTIVITY = 16
/** Candidates that are looked at for the neighbours of a new row. */
const EXPANSION_ADD = 128
/** The library takes the larger of this and the number of rows wanted: callers say how many they want. */
const EXPANSION_SEARCH = 16
/** The calling thread alone: the others of the process have work of their own. */
const THREADS = 1
const NO_GRAPH = '/'

/** The library's names of metrics and of kinds of numbers: see coarse-byte.ts about those of one byte. */
const METRICS = { l2_squared: 'L2sq', inner_product: 'IP', hamming: 'Hamming' } as const
const SCALARS = { f32: 'F32', f16: 'F16', i8: 'E2M3', binary: 'B1' } as const

export const USEARCH: GraphLibrary = {
  grow: (shape, rowCount) => new GrowingUsearch(newIndex(shape), graphRowBytes(shape) * rowCount),
  extend(shape, path) {
    const index = newIndex(shape)
    try {
      index.load(path)
    } catch (error) {
      throw libraryError(error, 'a graph of vectors could not be loaded')
    }
    return new GrowingUsearch(index, graphRowBytes(shape) * index.size())
  },
  view(shape, path) {
    const index = newIndex(shape)
    try {
      // Where the library cannot open a file, it closes descriptor 0, whatever that is by then.
      closeSync(openSync(path, 'r'))
      index.view(path)
    } catch (error) {
      throw libraryError(error, 'a graph of vectors could not be mapped')
    }
    return new UsearchGraph(index, 0)
  },
}

class UsearchGraph implements VectorGraph {
  readonly bytesInMemory: number
  readonly #index: Usearch.Index

  constructor(index: Usearch.Index, bytesInMemory: number) {
    this.#index = index
    this.bytesInMemory = bytesInMemory
  }

  search(vector: GraphVector, count: number): GraphHits {
    const { keys } = this.#index.search(floatsOf(vector), count, THREADS)
    const rows = new Uint32Array(keys.length)
    // Row numbers fill the lower half of a key alone.
    const halves = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2)
    for (let i = 0; i < rows.length; i += 1) rows[i] = halves[i * 2] ?? 0
    return { rows }
  }

  /**
   * The library releases memory and file when it begins to load another file, and has no call of its own for that.
   */
  close(): void {
    try {
      this.#index.load(NO_GRAPH)
    } catch {
      // A directory is opened, and cannot be read.
    }
  }
}

class GrowingUsearch implements GrowingGraph {
  readonly #index: Usearch.Index
  readonly #bytes: number

  constructor(index: Usearch.Index, bytes: number) {
    this.#index = index
    this.#bytes = bytes
  }

  add(row: number, vector: GraphVector): void {
    this.#index.add(BigInt(row), floatsOf(vector), THREADS)
  }

  save(path: string): void {
    try {
      this.#index.save(path)
    } catch (error) {
      throw libraryError(error, 'a graph of vectors could not be written')
    }
  }

  finish(): VectorGraph {
    return new UsearchGraph(this.#index, this.#bytes)
  }
}

/** Small integers become what the library keeps in a byte. */
function floatsOf(vector: GraphVector): Float32Array {
  if (vector instanceof Float32Array) return vector
  return Float32Array.from(vector, (value) => value * BYTE_UNIT)
}

const BYTE_UNIT = COARSE_BYTE_MAX / I8_MAX

function newIndex({ dimension, metric, quantization }: GraphShape): Usearch.Index {
  const { Index: IndexOf, MetricKind, ScalarKind } = loadUsearch()
  return new IndexOf({
    dimensions: dimension,
    metric: MetricKind[METRICS[metric]],
    quantization: ScalarKind[SCALARS[quantization]],
    connectivity: CONNECTIVITY,
    expansion_add: EXPANSION_ADD,
    expansion_search: EXPANSION_SEARCH,
    multi: false,
  })
}

/** When the first graph is made or opened: most workers never have one. */
function loadUsearch(): typeof Usearch {
  return createRequire(import.meta.url)('usearch')
}
