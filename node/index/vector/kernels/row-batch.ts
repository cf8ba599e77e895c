import type { Metric } from '../../../embedding/settings.ts'

/** The vector that rows are measured against. */
export interface RowQuery {
  readonly metric: Metric
  readonly vector: Float32Array
}

/** The most rows that are measured together, however small they are. */
export const BATCH_ROWS_MAX = 256

/**
 * Rows that are measured together: each is at least as far from a query as `leastOf` says. A thread has one memory for all
 * of a kind, so what is measured in one step is read before the next.
 */
export interface RowBatch {
  readonly count: number
  readonly isFull: boolean
  /** What the caller calls the rows, by their places: for its own use. */
  readonly rows: Uint32Array
  /** The places of the rows that `measure` gathered. */
  readonly near: Uint16Array
  /** Forgets all rows, and takes a query. The vector has at most DIMENSION_MAX numbers. */
  begin(query: RowQuery): void
  /** For more rows and the same query, in the same step. */
  clear(): void
  /**
   * Measures all rows, and gathers in `near` those that may be as near as `bar`, in their order. Answers how many. There is
   * one row at least.
   */
  measure(bar: number): number
  /** After `measure`: the row is at least as far away. NaN where that cannot be told. */
  leastOf(place: number): number
}

/** Gathers the places whose rows are not known to be farther than `bar`. */
export function gatherNear(batch: RowBatch, bar: number): number {
  const { count, near } = batch
  let found = 0
  for (let place = 0; place < count; place += 1) {
    // What cannot be told is not farther.
    if (batch.leastOf(place) > bar) continue
    near[found] = place
    found += 1
  }
  return found
}

/** Sums that overflowed tell nothing. */
export function finite(value: number): number {
  return Number.isFinite(value) ? value : NaN
}
