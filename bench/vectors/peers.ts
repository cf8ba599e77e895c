// Other libraries of vectors, where they are built: bench/vectors/build-hnswlib.sh and test/ci/build-faiss.sh.

import { createRequire } from 'node:module'
import path from 'node:path'
import type * as Faiss from 'faiss-node'
import { DIMENSION, type VectorSource } from './vector-source.ts'

const HNSWLIB = path.resolve(
  import.meta.dirname,
  '../../node_modules/.bench-peers/node_modules/hnswlib-node',
)
const CONNECTIVITY = 16
const EXPANSION_ADD = 128
/** Each call of the library makes a lock for each row that it has. */
const FAISS_ADDED_TOGETHER = 2000

/** A library with a graph of vectors in memory. */
export interface VectorPeer {
  readonly name: string
  /** What it needs to take the vectors of some documents; it is not measured. */
  prepare(source: VectorSource, numbers: readonly number[]): () => void
  /** A vector as the library takes it. */
  pointOf(vector: Float32Array): readonly number[]
  /** The nearest `limit` of `width` candidates. */
  nearest(
    point: readonly number[],
    asked: { readonly limit: number; readonly width: number },
  ): readonly number[]
}

/** The used part of hnswlib-node. */
interface HierarchicalNsw {
  initIndex(options: {
    readonly maxElements: number
    readonly m: number
    readonly efConstruction: number
  }): void
  addPoint(point: readonly number[], label: number): void
  setEf(width: number): void
  searchKnn(point: readonly number[], count: number): { readonly neighbors: readonly number[] }
}

/** Those that are built on this machine. */
export function builtPeers(count: number): readonly VectorPeer[] {
  return [openHnswlib(count), openFaiss()].filter((peer) => peer !== undefined)
}

/** Vectors of 32 bits: it has no others. */
function openHnswlib(count: number): VectorPeer | undefined {
  const library: {
    readonly HierarchicalNSW: new (space: string, size: number) => HierarchicalNsw
  } = load(HNSWLIB)
  if (library === undefined) return undefined
  const index = new library.HierarchicalNSW('cosine', DIMENSION)
  index.initIndex({ maxElements: count, m: CONNECTIVITY, efConstruction: EXPANSION_ADD })
  return {
    name: 'hnswlib-node, f32',
    prepare(source, numbers) {
      const points = numbers.map((number) => Array.from(source.vectorOf(number)))
      return () => numbers.forEach((number, i) => index.addPoint(points[i] ?? [], number))
    },
    pointOf: (vector) => Array.from(vector),
    nearest(point, { limit, width }) {
      index.setEf(width)
      return index.searchKnn(point, limit).neighbors
    },
  }
}

/** Half floats, as ours; vectors of length 1, whose order by distance is that by angle. */
function openFaiss(): VectorPeer | undefined {
  const library: typeof Faiss | undefined = load('faiss-node')
  if (library === undefined) return undefined
  const index = library.Index.fromFactory(
    DIMENSION,
    `HNSW${CONNECTIVITY},SQfp16`,
    library.MetricType.METRIC_L2,
  )
  // Half floats have nothing to learn, but the library asks for it.
  if (!index.isTrained()) index.train(Array.from({ length: DIMENSION }, () => 0))
  return {
    name: 'faiss-node, f16',
    prepare(source, numbers) {
      const parts: number[][] = []
      for (let from = 0; from < numbers.length; from += FAISS_ADDED_TOGETHER) {
        const together = numbers.slice(from, from + FAISS_ADDED_TOGETHER)
        parts.push(together.flatMap((number) => unit(source.vectorOf(number))))
      }
      return () => parts.forEach((part) => index.add(part))
    },
    pointOf: unit,
    // The package cannot set the width, which is at least the number of hits.
    nearest: (point, { limit, width }) => index.search([...point], width).labels.slice(0, limit),
  }
}

function unit(vector: ArrayLike<number>): number[] {
  const values = Array.from(vector)
  const length = Math.hypot(...values)
  return values.map((value) => value / length)
}

/** Undefined where it is not installed, or has no binary. */
function load(name: string) {
  try {
    return createRequire(import.meta.url)(name)
  } catch {
    return undefined
  }
}
