import type { Bitset } from '../../encoding/bitset.ts'
import type { Poll } from '../poll.ts'
import type { TopHits } from './top-hits.ts'

/** The inputs that all loops over whole segments share. */
export interface BulkSearch {
  readonly hits: TopHits
  /** The documents that may be found; undefined for all. */
  readonly accepted: Bitset | undefined
  /** Whether every match is visited and counted, also those that cannot be among the best. */
  readonly countsAll: boolean
  readonly poll: Poll
}

export function isAccepted(accepted: Bitset | undefined, doc: number): boolean {
  return accepted === undefined || ((accepted[doc >>> 5] ?? 0) & (1 << (doc & 31))) !== 0
}

// An index that is known to be in range, one function for each kind of array: the compiler inlines
// them and keeps each to one kind.

export function u32At(values: Uint32Array, at: number): number {
  return values[at] ?? 0
}

export function f64At(values: Float64Array, at: number): number {
  return values[at] ?? 0
}
