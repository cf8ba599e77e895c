/** The keys `start <= key < end` in byte order; an absent `end` means that there is no last key. */
export interface KeyRange {
  readonly start: Buffer
  readonly end: Buffer | undefined
}

export function rangeContains({ start, end }: KeyRange, key: Buffer): boolean {
  return start.compare(key) <= 0 && (end === undefined || key.compare(end) < 0)
}

/** The part of `range` that lies in `within`, or undefined when they do not meet. */
export function intersectRanges(range: KeyRange, within: KeyRange): KeyRange | undefined {
  const start = range.start.compare(within.start) >= 0 ? range.start : within.start
  const end = earlierEnd(range.end, within.end)
  return end !== undefined && start.compare(end) >= 0 ? undefined : { start, end }
}

function earlierEnd(a: Buffer | undefined, b: Buffer | undefined): Buffer | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return a.compare(b) <= 0 ? a : b
}

export function sameRange(a: KeyRange, b: KeyRange): boolean {
  const isSameEnd =
    a.end === undefined || b.end === undefined ? a.end === b.end : a.end.equals(b.end)
  return isSameEnd && a.start.equals(b.start)
}

/** The smallest key that is greater than `key`: how an inclusive end becomes an exclusive one. */
export function keyAfter(key: Buffer): Buffer {
  return Buffer.concat([key, ZERO])
}

const ZERO = Buffer.from([0])
