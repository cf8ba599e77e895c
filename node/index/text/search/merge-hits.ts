// The hits of all shards, or of all parts of a shard, as one list, in slices: sixty-four shards may give ten
// thousand hits each.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { must } from '../../../../lib/assert.ts'

/** Compared in a step; a comparison may look at several values. */
const COMPARED_PER_STEP = 2_000

interface Run<Hit> {
  readonly hits: readonly Hit[]
  next: number
}

/**
 * The first `limit` hits of lists that are in order each. `compare` is negative if its first argument
 * comes first.
 */
export function* mergeHits<Hit>(
  lists: readonly (readonly Hit[])[],
  limit: number,
  compare: (a: Hit, b: Hit) => number,
): Sliced<readonly Hit[]> {
  const [only = []] = lists
  if (lists.length <= 1) return only.slice(0, limit)
  const meter = new StepMeter(COMPARED_PER_STEP)
  const runs = lists.filter(({ length }) => length > 0).map((hits): Run<Hit> => ({ hits, next: 0 }))
  const isBefore = (a: Run<Hit>, b: Run<Hit>): boolean => compare(headOf(a), headOf(b)) < 0
  for (let at = runs.length >> 1; at >= 0; at--) sink(runs, at, isBefore)
  const merged: Hit[] = []
  for (let first = runs[0]; first !== undefined && merged.length < limit; first = runs[0]) {
    merged.push(headOf(first))
    first.next++
    if (first.next === first.hits.length) dropFirst(runs)
    sink(runs, 0, isBefore)
    if (meter.spend(Math.ceil(Math.log2(runs.length + 1)) * 2)) yield
  }
  return merged
}

/** The last `limit` hits of lists that are in order each, in that order. */
export function* mergeLastHits<Hit>(
  lists: readonly (readonly Hit[])[],
  limit: number,
  compare: (a: Hit, b: Hit) => number,
): Sliced<readonly Hit[]> {
  const backwards = lists.map((hits) => hits.toReversed())
  const last = yield* mergeHits(backwards, limit, (a, b) => compare(b, a))
  return last.toReversed()
}

function headOf<Hit>({ hits, next }: Run<Hit>): Hit {
  return must(hits[next], 'a run that has a hit left')
}

/** The last run takes the place of the first. */
function dropFirst<Hit>(runs: Run<Hit>[]): void {
  const last = runs.pop()
  if (last !== undefined && runs.length > 0) runs[0] = last
}

/** Restores the order of a binary heap in which the run at `from` may come too early. */
function sink<Hit>(
  runs: Run<Hit>[],
  from: number,
  isBefore: (a: Run<Hit>, b: Run<Hit>) => boolean,
): void {
  let at = from
  for (;;) {
    const run = runs[at]
    const left = runs[2 * at + 1]
    const right = runs[2 * at + 2]
    if (run === undefined || left === undefined) return
    const isRight = right !== undefined && isBefore(right, left)
    const child = isRight ? right : left
    if (!isBefore(child, run)) return
    const place = isRight ? 2 * at + 2 : 2 * at + 1
    runs[at] = child
    runs[place] = run
    at = place
  }
}
