const RUN_LENGTH = 2048
const COPIES_PER_SLICE = 16_384

/** Sorts in place and stably, in slices of about a millisecond, so that others may work between. */
export function* sortInSlices<T>(
  items: T[],
  compare: (a: T, b: T) => number,
): Generator<void, void> {
  for (let from = 0; from < items.length; from += RUN_LENGTH) {
    const run = items.slice(from, from + RUN_LENGTH).toSorted(compare)
    for (const [i, item] of run.entries()) items[from + i] = item
    yield
  }
  let budget = COPIES_PER_SLICE
  for (let width = RUN_LENGTH; width < items.length; width *= 2) {
    for (let from = 0; from < items.length; from += 2 * width) {
      mergeRuns(items, { from, middle: from + width, to: from + 2 * width }, compare)
      budget -= 2 * width
      if (budget > 0) continue
      budget = COPIES_PER_SLICE
      yield
    }
  }
}

function mergeRuns<T>(
  items: T[],
  range: { from: number; middle: number; to: number },
  compare: (a: T, b: T) => number,
): void {
  const left = items.slice(range.from, range.middle)
  const right = items.slice(range.middle, range.to)
  let l = 0
  let r = 0
  for (let at = range.from; at < range.from + left.length + right.length; at += 1) {
    const a = left[l]
    const b = right[r]
    const takesLeft = b === undefined || (a !== undefined && compare(a, b) <= 0)
    const item = takesLeft ? a : b
    if (takesLeft) l += 1
    else r += 1
    if (item !== undefined) items[at] = item
  }
}

export function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
