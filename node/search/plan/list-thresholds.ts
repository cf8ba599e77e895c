// The thresholds of a merged query: which list each is for, and whether it can bound what that list has.

import { refuse } from '../../query/query-limits.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'
import type { ListThreshold } from '../../query/request/threshold-request.ts'
import type { MergedLists } from './query-lists.ts'

type Lists = Omit<MergedLists, 'windowSize'>

/** The threshold of the list of a name, in the index of a name. `merge_config` may use either. */
export function thresholdOf(
  { thresholds, autocut }: MergedLists['config'],
  { name, index }: { readonly name: string; readonly index: string },
): ListThreshold {
  const own = thresholds?.get(name) ?? thresholds?.get(index)
  return {
    minScore: own?.minScore,
    distanceUnder: own?.distanceUnder,
    distanceOver: own?.distanceOver,
    autocut: own?.autocut ?? autocut,
  }
}

/** Whether any list may end by itself. */
export function hasAutocut({
  thresholds,
  autocut,
}: Pick<MergedLists['config'], 'thresholds' | 'autocut'>): boolean {
  return (
    autocut !== undefined || thresholds?.values().some((one) => one.autocut !== undefined) === true
  )
}

/** Throws INVALID_ARGUMENT with the place of a bound that its list cannot have. */
export function checkThresholds({ vectors }: Pick<QueryRequest, 'vectors'>, lists: Lists): void {
  const { nearest, config } = lists
  checkNames('thresholds', config.thresholds?.keys(), lists)
  for (const [name, threshold] of config.thresholds ?? []) {
    const where = `merge_config.thresholds.${name.slice(0, 64)}`
    const dense = nearest.find(({ index }) => index.name === name && !index.sparse)
    if (dense === undefined) checkScored(where, threshold)
    else checkDistances(where, threshold, vectors)
  }
}

/** Throws INVALID_ARGUMENT with the place of a weight that is of no list. */
export function checkWeights(lists: Lists): void {
  checkNames('weights', lists.config.weights.keys(), lists)
}

function checkScored(where: string, { distanceUnder, distanceOver }: ListThreshold): void {
  const problem =
    'bounds distances, which only dense vectors have: words have scores and sparse vectors inner products, for min_score'
  if (distanceUnder !== undefined) refuse(`${where}.distance_under`, problem)
  if (distanceOver !== undefined) refuse(`${where}.distance_over`, problem)
}

function checkDistances(
  where: string,
  { minScore, distanceUnder, distanceOver }: ListThreshold,
  vectors: QueryRequest['vectors'],
): void {
  if (minScore !== undefined) {
    refuse(
      `${where}.min_score`,
      'bounds scores and inner products, and the index has distances: use distance_under',
    )
  }
  const twice = 'stands beside the threshold of its index; leave one of them out'
  const { distanceUnder: under, distanceOver: over } = vectors ?? {}
  if (distanceUnder !== undefined && under !== undefined) refuse('distance_under', twice)
  if (distanceOver !== undefined && over !== undefined) refuse('distance_over', twice)
}

function checkNames(
  member: 'thresholds' | 'weights',
  used: Iterable<string> | undefined,
  { texts, nearest }: Lists,
): void {
  const words = texts.flatMap(({ name, index }) => [name, index])
  const names = new Set([...words, ...nearest.map(({ index }) => index.name)])
  const stray = [...(used ?? [])].find((name) => !names.has(name))
  if (stray === undefined) return
  const known = [...names].join(', ')
  refuse(`merge_config.${member}.${stray.slice(0, 64)}`, `is none of the merged indexes: ${known}`)
}
