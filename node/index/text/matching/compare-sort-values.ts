import { compareTexts } from '../encoding/compare-texts.ts'
import type { SortValue } from '../../../query/request/query-cursor.ts'

/**
 * Negative if `a` comes first. A hit without a value comes last in either direction. Texts are
 * compared as `compareTexts` does, and numbers come before texts, where shards disagree about a field.
 */
export function compareSortValues(a: SortValue, b: SortValue, isDescending: boolean): number {
  if (a === b) return 0
  if (a === undefined) return 1
  if (b === undefined) return -1
  const isLess = isBelow(a, b)
  return isLess === isDescending ? 1 : -1
}

function isBelow(a: string | number, b: string | number): boolean {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b) < 0
  return typeof a === typeof b ? a < b : typeof a === 'number'
}
