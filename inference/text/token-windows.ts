/** A stretch of a long text, in tokens or words, that a model sees at once. */
export interface TextWindow {
  readonly start: number
  readonly end: number
  /** What it decides about: of what two windows share, each has the half farther from its edge. */
  readonly ownedStart: number
  readonly ownedEnd: number
}

const SHARED_RATIO = 0.25

/** Windows of at most `room` tokens. */
export function buildTokenWindows(count: number, room: number): TextWindow[] {
  return buildWindows(count, (start) => Math.min(start + room, count))
}

/**
 * Windows over `count` tokens or words, each as long as `endOf` says of its start. Neighbours share
 * about a quarter; all is owned once.
 */
export function buildWindows(count: number, endOf: (start: number) => number): TextWindow[] {
  const windows: TextWindow[] = []
  let start = 0
  let ownedStart = 0
  for (;;) {
    const end = endOf(start)
    if (end === count) return [...windows, { start, end, ownedStart, ownedEnd: end }]
    const next = Math.max(start + 1, end - Math.floor((end - start) * SHARED_RATIO))
    const ownedEnd = Math.floor((next + end) / 2)
    windows.push({ start, end, ownedStart, ownedEnd })
    start = next
    ownedStart = ownedEnd
  }
}
