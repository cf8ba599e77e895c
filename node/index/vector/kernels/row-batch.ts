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
  /** Makes room for more rows; the query stays, within the same step. */
  clear(): void
  /**
   * Measures all rows, and gathers in `near` those that may be as near as `bar`, in their order. Answers how many. There is
   * one row at least.
   */
  measure(bar: number): number
  /** After `measure`: the row is at least as far away. NaN where that cannot be told. */
  leastOf(place: number): number
}

/** The room of a batch: how many rows fit, and how many are there. */
export abstract class BatchRoom {
  readonly rows = new Uint32Array(BATCH_ROWS_MAX)
  readonly near = new Uint16Array(BATCH_ROWS_MAX)
  #capacity = 0
  #count = 0

  get isFull(): boolean {
    return this.#count === this.#capacity
  }

  get count(): number {
    return this.#count
  }

  clear(): void {
    this.#count = 0
  }

  /** Forgets all rows. New ones have `rowBytes` each, and `bytes` together at most. */
  protected divide(bytes: number, rowBytes: number): void {
    this.#capacity = Math.min(BATCH_ROWS_MAX, Math.floor(bytes / rowBytes))
    this.clear()
  }

  /** Counts as many of `rowCount` rows as fit, and answers how many. */
  protected take(rowCount: number): number {
    const taken = Math.min(rowCount, this.#capacity - this.#count)
    this.#count += taken
    return taken
  }
}

/** Sums that overflowed tell nothing. */
export function finite(value: number): number {
  return Number.isFinite(value) ? value : NaN
}
