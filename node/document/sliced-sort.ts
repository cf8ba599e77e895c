import { StepMeter, type Sliced } from '../../lib/sliced.ts'

const RUN_LENGTH = 1024
const MERGED_PER_STEP = 5000

/**
 * A stable sort in steps. The engine's own sort orders short runs, and steps merge them two by two.
 */
export function* sortSliced<T>(
  items: readonly T[],
  compare: (left: T, right: T) => number,
): Sliced<readonly T[]> {
  let runs: (readonly T[])[] = []
  for (let at = 0; at < items.length; at += RUN_LENGTH) {
    runs.push(items.slice(at, at + RUN_LENGTH).toSorted(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [left = [], right = []] = runs.slice(at, at + 2)
      merged.push(yield* mergeRuns(left, right, compare))
    }
    runs = merged
  }
  return runs[0] ?? []
}

function* mergeRuns<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (left: T, right: T) => number,
): Sliced<readonly T[]> {
  const merged: T[] = []
  const meter = new StepMeter(MERGED_PER_STEP)
  let leftAt = 0
  let rightAt = 0
  for (;;) {
    if (meter.spend(1)) yield
    const [first, second] = [left[leftAt], right[rightAt]]
    if (first === undefined && second === undefined) return merged
    if (second === undefined || (first !== undefined && compare(first, second) <= 0)) {
      if (first !== undefined) merged.push(first)
      leftAt++
    } else {
      merged.push(second)
      rightAt++
    }
  }
}
