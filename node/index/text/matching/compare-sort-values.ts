import { compareExactly } from '../../../document/decimal.ts'
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
  const order = compareAscending(a, b)
  return isDescending ? -order : order
}

type Present = Exclude<SortValue, undefined>

function compareAscending(a: Present, b: Present): number {
  if (typeof a === 'string') return typeof b === 'string' ? compareTexts(a, b) : 1
  if (typeof b === 'string') return -1
  return compareExactly(numberOf(a), numberOf(b))
}

function numberOf(value: Exclude<Present, string>): number | string {
  return typeof value === 'number' ? value : value.decimal
}
