// What the engines of vectors know of an embeddings index.

/** How far two vectors are apart. `inner_product` is negated, so that smaller is nearer for each. */
export type Metric = 'l2_squared' | 'inner_product' | 'cosine'

/** What the graph of an engine keeps of a number. Distances in answers are those of the exact vectors. */
export type Quantization = 'f32' | 'f16' | 'i8' | 'binary'

/** What searches an index: graphs of `usearch` or `faiss`, or `exact`, which compares with every vector. */
export type VectorEngine = 'usearch' | 'exact' | 'faiss'

/** The settings of an index of dense vectors. */
export interface DenseIndexSettings {
  /** The count of numbers in each vector, at least 1. */
  readonly dimension: number
  readonly metric: Metric
  readonly engine: VectorEngine
  readonly quantization: Quantization
}
