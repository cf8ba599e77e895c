// The order of hits in one shard and over all shards: by sort keys, then by the bytes of the key.
// Hits without a value come last in both directions.

import type { SortKey, SortValue } from '../../../query/request/query-cursor.ts'
import { compareSortValues } from '../matching/compare-sort-values.ts'

/** The members of a hit that decide on its order. */
export interface OrderedHit {
  readonly key: Uint8Array
  readonly sortValues: readonly SortValue[]
}

/** Compares two hits; negative if `a` comes first. */
export function compareHits(order: readonly SortKey[], a: OrderedHit, b: OrderedHit): number {
  for (const [i, { isDescending }] of order.entries()) {
    const compared = compareSortValues(a.sortValues[i], b.sortValues[i], isDescending)
    if (compared !== 0) return compared
  }
  return Buffer.compare(a.key, b.key)
}
