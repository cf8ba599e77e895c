import type { AggregationContext, BucketWalk } from './aggregation-context.ts'
import { walkValues } from './doc-set.ts'

/**
 * The values of one document: `values[from]` up to `values[to]`, exclusive. They ascend, except for
 * points.
 */
export interface DocumentValues {
  readonly values: Float64Array
  readonly from: number
  readonly to: number
}

/**
 * Assigns documents to buckets by a field's column. Without the field, no document has a bucket.
 */
export function walkColumn<Key>(
  { poll }: AggregationContext,
  indexField: string | undefined,
  tell: (document: DocumentValues, visit: (key: Key) => void) => void,
): BucketWalk<Key> {
  return function* ({ segment, docs }, visit) {
    const column = indexField === undefined ? undefined : segment.field(indexField)?.column
    if (column === undefined) return
    yield* walkValues(docs, column, {
      poll,
      visit: (doc, values, from, to) => tell({ values, from, to }, (key) => visit(key, doc)),
    })
  }
}

export function rangeHolds(
  { from, to }: { readonly from: number | undefined; readonly to: number | undefined },
  value: number,
): boolean {
  return (from === undefined || value >= from) && (to === undefined || value < to)
}
