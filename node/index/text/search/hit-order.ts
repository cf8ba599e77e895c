// The order of hits, within a shard and over all of them: sort keys, then the bytes of the key.
// Hits without a value come last in either direction.

import type { SortKey, SortValue } from '../../../query/query-cursor.ts'

export interface OrderedHit {
  readonly key: Uint8Array
  readonly sortValues: readonly SortValue[]
}

/** Negative if `a` comes first. */
export function compareHits(order: readonly SortKey[], a: OrderedHit, b: OrderedHit): number {
  for (const [i, { isDescending }] of order.entries()) {
    const compared = compareValues(a.sortValues[i], b.sortValues[i], isDescending)
    if (compared !== 0) return compared
  }
  return Buffer.compare(a.key, b.key)
}

/** Numbers before texts, where the shards disagree about a field; texts by their code units. */
function compareValues(a: SortValue, b: SortValue, isDescending: boolean): number {
  if (a === b) return 0
  if (a === undefined) return 1
  if (b === undefined) return -1
  const isLess = typeof a === typeof b ? a < b : typeof a === 'number'
  return isLess === isDescending ? 1 : -1
}
