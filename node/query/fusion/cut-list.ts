// Leaves out of one index's list the hits that its threshold does not let count, before lists are merged.

import type { ListThreshold } from '../request/threshold-request.ts'
import { countBeforeJump } from './autocut.ts'

/**
 * `hits` begin with the best, and so do those that are left. Distances are bounded where vectors are searched, so that
 * the window holds hits within them.
 */
export function cutList<Hit extends { readonly value: number }>(
  hits: readonly Hit[],
  { minScore, autocut }: Pick<ListThreshold, 'minScore' | 'autocut'>,
): readonly Hit[] {
  const good = minScore === undefined ? hits : hits.filter(({ value }) => value >= minScore)
  if (autocut === undefined) return good
  const values = good.map(({ value }) => value)
  return good.slice(0, countBeforeJump(values, autocut))
}
