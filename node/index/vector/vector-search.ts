// What can be asked of an index of vectors: which documents are nearest to a vector.

import type { OrdinalSet } from '../host/ordinal-set.ts'

/** The most hits that a request may want. */
export const NEAREST_LIMIT_MAX = 10_000

/** Which documents are asked for, whatever the vectors are. */
export interface SoughtDocuments {
  /** How many documents, 1 to NEAREST_LIMIT_MAX. The nearest row of a document counts. */
  readonly limit: number
  /** These documents alone. */
  readonly filter?: OrdinalSet | undefined
  /** Documents that have expired by then are not found. */
  readonly nowMs: number
}

/** Asks for the documents whose vectors are nearest to one. */
export interface NearestRequest extends SoughtDocuments {
  /** Has the index's dimension; finite; not all 0 for the metric `cosine`. */
  readonly vector: Float32Array
  /** 0 to 1: how much time may be spent on finding the very nearest; 1 is next to exact. */
  readonly effort: number
  /** How many candidates are compared exactly for each hit wanted; undefined: as many as the effort says. */
  readonly oversampling?: number | undefined
  /** No document farther away than this. */
  readonly distanceUnder?: number | undefined
  /** No document nearer than this. */
  readonly distanceOver?: number | undefined
}

/** A sparse vector: `weights[i]`, at least 0, belongs to `terms[i]`. The terms ascend. */
export interface SparseVector {
  readonly terms: Uint32Array
  readonly weights: Float32Array
}

/** Asks an index of sparse vectors for the documents with the largest inner products with one. */
export interface SparseRequest extends SoughtDocuments {
  /** At most SPARSE_TERMS_MAX terms, one with a weight above 0 at least. */
  readonly vector: SparseVector
}

/** A document, by the row of it that is nearest. */
export interface NearestHit {
  readonly key: Uint8Array
  readonly ordinal: number
  /** Between the exact vectors, by the metric of the index: smaller is nearer. Of sparse ones Σab, negated. */
  readonly distance: number
  /** The number of the row in its document. */
  readonly row: number
  /** UTF-16 offsets of the row's chunk in the text that was embedded; 0 and 0: the whole. */
  readonly start: number
  readonly end: number
}

/** The nearest documents. */
export interface NearestAnswer {
  /** By distance, then by key. */
  readonly hits: readonly NearestHit[]
  /** How many documents the index has that pass the filter and have not expired, near or far. */
  readonly total: number
}

/** A `NearestAnswer` as it crosses threads and nodes: `unpackNearest` reads it. */
export interface PackedNearest {
  readonly total: number
  /** Where the key of each hit ends in `keys`. */
  readonly keyEnds: Uint32Array
  readonly keys: Uint8Array
  readonly ordinals: Uint32Array
  readonly distances: Float64Array
  readonly rows: Uint32Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

/** By question, the request and its answer. */
export interface VectorQuestions {
  readonly nearest: {
    readonly request: NearestRequest | SparseRequest
    readonly answer: PackedNearest
  }
}
