/** Vectors that lie one behind the other from `at` on, until the next call. */
export interface VectorBlock {
  readonly vectors: Float32Array
  readonly at: number
  readonly rowCount: number
}

/** Rows of dense vectors, of which as many are answered as lie together. */
export interface RowBlocks {
  readonly rowCount: number
  block(row: number, count: number): VectorBlock
}
