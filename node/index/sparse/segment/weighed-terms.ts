/** Behind the last term. */
export const NO_TERM = Infinity

/** Rows that have a term, and how much of it each: ascending. They are good until the next ones. */
export interface WeighedRows {
  readonly rows: Uint32Array
  readonly weights: Float32Array
}

/** The terms of some rows, ascending, for a merge. It begins at the first one. */
export interface WeighedTerms {
  /** NO_TERM at the end. */
  readonly term: number
  /** The rows of the term, ascending, at most 128 at once. */
  weighedRows(): Iterable<WeighedRows>
  /** Goes to the next term, in some microseconds. */
  next(): void
}
