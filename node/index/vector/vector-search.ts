// The question of a coordinator to one shard's index of vectors, and the answer: plain data that a structured
// clone keeps.

import type { OrdinalSet } from '../text/matching/ordinal-set.ts'

/** A search for the documents whose vectors are nearest to one. */
export interface NearestRequest {
  /** As many numbers as the index's dimension. */
  readonly vector: Float32Array
  /** How many documents, 1 to 10 000; of a document with several vectors the nearest one counts. */
  readonly limit: number
  /** From 0, the fastest, to 1, the most thorough. */
  readonly effort: number
  /** Exact distances that are kept are at most this. */
  readonly distanceUnder?: number
  /** Exact distances that are kept are at least this. */
  readonly distanceOver?: number
  /** Only these documents. */
  readonly filter?: OrdinalSet
  /** The time of the query. Documents that have expired by then are left out. */
  readonly nowMs: number
}

/** One document that is near. */
export interface NearestHit {
  /** The document's key. */
  readonly key: Uint8Array
  readonly ordinal: number
  /** Exact, by the index's metric; smaller is nearer. */
  readonly distance: number
  /** The number of its nearest vector among those of the document. */
  readonly row: number
  /** The part of the embedded text that the vector stands for, in UTF-16 units; 0 and 0 for all of it. */
  readonly start: number
  readonly end: number
}

/** The answer of one shard. */
export interface NearestAnswer {
  /** By distance, then by the bytes of the key. */
  readonly hits: readonly NearestHit[]
  /** The documents of the index that pass the filter, without deleted and expired ones. */
  readonly total: number
}

/** The questions to an index of vectors and their answers. */
export interface VectorQuestions {
  readonly nearest: { readonly request: NearestRequest; readonly answer: NearestAnswer }
}
