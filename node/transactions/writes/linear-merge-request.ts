import type { Insert } from '../../document/writes.ts'
import type { WriteOptions } from '../write-options.ts'

/** One page of a linear merge: the source's records of one range of keys. */
export interface MergeRequest {
  /** Sorted by key bytes, without duplicates. */
  readonly records: readonly Insert[]
  readonly lastMergedId: Buffer | undefined
  readonly dryRun: boolean
  readonly options: WriteOptions
}

/** A record that the table's rules refused. It stops neither the page nor the merge. */
export interface MergeFailure {
  readonly id: string
  readonly operation: 'upsert' | 'delete'
  readonly error: string
}

/**
 * The outcome of one page, named as in the HTTP contract. In a dry run it says what would happen.
 */
export interface MergeResult {
  readonly status: 'success' | 'partial'
  readonly upserted: number
  readonly skipped: number
  readonly deleted: number
  /** Only in a dry run. */
  readonly deleted_ids?: readonly string[]
  readonly failed: readonly MergeFailure[]
  readonly next_cursor: string
  readonly key_range: { readonly from: string; readonly to: string }
  readonly keys_scanned: number
  readonly message: string
  /** Milliseconds. */
  readonly took: number
}
