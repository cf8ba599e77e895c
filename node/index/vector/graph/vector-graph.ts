// The seam for libraries that search graphs of vectors.

import type { Quantization } from '../../../embedding/settings.ts'

/** By what a graph compares vectors. `hamming` is for bits: the signs of the numbers. */
export type GraphMetric = 'l2_squared' | 'inner_product' | 'hamming'

/** What a graph is made with. */
export interface GraphShape {
  readonly dimension: number
  readonly metric: GraphMetric
  readonly quantization: Quantization
}

/** Rows and how far they are from a query in the graph's own numbers, the nearest first. */
export interface GraphHits {
  readonly rows: Uint32Array
}

/** A finished graph. */
export interface VectorGraph {
  /** What it holds in memory; what is mapped from a file does not count. */
  readonly bytesInMemory: number
  /**
   * The `count` rows nearest to a vector in the form of the graph's quantizer, about; fewer if the graph
   * has fewer. The time grows with `count`, and so does what is found: it is the width of the search too. (The
   * search of faiss ends when it has not come nearer for a while, however many are wanted.)
   */
  search(vector: GraphVector, count: number): GraphHits
  /** Gives up its memory and its file. It is not searched any more. */
  close(): void
}

/** A vector as a quantizer made it: small integers for `i8`. */
export type GraphVector = Float32Array | Int8Array

/** A graph that grows in memory. One vector takes a millisecond or so; saving is one step, whatever the size. */
export interface GrowingGraph {
  /** Row numbers ascend from 0. */
  add(row: number, vector: GraphVector): void
  /** Writes it into a file that does not exist, also after `finish`. */
  save(path: string): void
  /** Ends the building: the graph does not grow any more. */
  finish(): VectorGraph
}

/** One library. */
export interface GraphLibrary {
  /** `rowCount`: how many will be added. */
  grow(shape: GraphShape, rowCount: number): GrowingGraph
  /** A copy of the graph in a file, which can be added to: one step, whatever the size. The file was verified. */
  extend(shape: GraphShape, path: string): GrowingGraph
  /** Maps a file, whose sum was verified: a damaged file may end the process. */
  view(shape: GraphShape, path: string): VectorGraph
}

const BITS: Readonly<Record<Quantization, number>> = { f32: 32, f16: 16, i8: 8, binary: 1 }
/** Neighbours, level and key of a row, about. */
const NODE_BYTES = 160

/** What a row takes in a graph, in memory and in its file, about. */
export function graphRowBytes({ dimension, quantization }: GraphShape): number {
  return (dimension * BITS[quantization]) / 8 + NODE_BYTES
}
