/** A range of tokens or words that a model sees at once. Ends are exclusive. */
export interface TextWindow {
  readonly start: number
  readonly end: number
  /**
   * The range that this window decides about. Two windows divide their overlap in the middle,
   * because a model knows more context away from its edges.
   */
  readonly ownedStart: number
  readonly ownedEnd: number
}

const SHARED_RATIO = 0.25

/** Windows over `count` tokens, of at most `room` tokens each. */
export function buildTokenWindows(count: number, room: number): TextWindow[] {
  return buildWindows(count, (start) => Math.min(start + room, count))
}

/**
 * Windows over `count` tokens or words. `endOf` answers the end of the window at a start.
 * Neighbours overlap by about a quarter, and each token is owned by exactly one window.
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
