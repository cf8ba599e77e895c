// A merge sort that pauses: a shard may have a million terms.

import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { Poll } from '../poll.ts'

/** Items that are sorted at once. */
const RUN_ITEMS = 1024
/** The cost of an item in such a run: about ten comparisons. */
const RUN_COST = 32
/** The cost of an item that is merged. */
const MERGE_COST = 4

type Compare<Item> = (a: Item, b: Item) => number

/** What `items.toSorted(compare)` answers. It pauses as the poll says. */
export function* sortedInSteps<Item>(
  items: readonly Item[],
  compare: Compare<Item>,
  poll: Poll,
): Sliced<readonly Item[]> {
  let sorted: Item[] = []
  for (let from = 0; from < items.length; from += RUN_ITEMS) {
    const run = items.slice(from, from + RUN_ITEMS).toSorted(compare)
    for (const item of run) sorted.push(item)
    if (poll.spend(run.length * RUN_COST)) yield poll.renewed()
  }
  for (let length = RUN_ITEMS; length < items.length; length *= 2) {
    sorted = yield* mergedRuns(sorted, { length, compare, poll })
  }
  return sorted
}

/** What `[...items].toSorted(compare).slice(0, count)` answers, without a sort of all. It pauses as the poll says. */
export function* firstInSteps<Item>(
  items: Iterable<Item>,
  compare: Compare<Item>,
  { count, poll }: { readonly count: number; readonly poll: Poll },
): Sliced<readonly Item[]> {
  let best: Item[] = []
  let last: Item | undefined
  for (const item of items) {
    if (poll.spend(MERGE_COST)) yield poll.renewed()
    if (last !== undefined && compare(item, last) >= 0) continue
    best.push(item)
    if (best.length < 2 * count + RUN_ITEMS) continue
    best = (yield* sortedInSteps(best, compare, poll)).slice(0, count)
    last = best.at(-1)
  }
  return (yield* sortedInSteps(best, compare, poll)).slice(0, count)
}

/** Merges neighbours among the runs, each of `length` items. */
function* mergedRuns<Item>(
  items: readonly Item[],
  options: { readonly length: number; readonly compare: Compare<Item>; readonly poll: Poll },
): Sliced<Item[]> {
  const { length, compare, poll } = options
  const merged: Item[] = []
  for (let from = 0; from < items.length; from += 2 * length) {
    let [left, right] = [from, from + length]
    const [leftEnd, rightEnd] = [
      Math.min(right, items.length),
      Math.min(right + length, items.length),
    ]
    while (left < leftEnd || right < rightEnd) {
      const isLeft =
        right >= rightEnd || (left < leftEnd && compare(at(items, left), at(items, right)) <= 0)
      merged.push(at(items, isLeft ? left++ : right++))
      if (poll.spend(MERGE_COST)) yield poll.renewed()
    }
  }
  return merged
}

function at<Item>(items: readonly Item[], place: number): Item {
  return must(items[place], 'an item')
}
