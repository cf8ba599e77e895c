/** A stretch of a long text's tokens that a model sees at once. */
export interface TokenWindow {
  readonly start: number
  readonly end: number
  /** Of the tokens that two windows share, each has the ones that are farther from its edge. */
  readonly ownedStart: number
  readonly ownedEnd: number
}

const SHARED_RATIO = 0.25

/** Windows of at most `room` tokens; neighbours share a quarter. Every token is owned once. */
export function buildTokenWindows(count: number, room: number): TokenWindow[] {
  const shared = Math.min(Math.floor(room * SHARED_RATIO), room - 1)
  const step = room - shared
  const starts = [0]
  while ((starts.at(-1) ?? 0) + room < count) starts.push((starts.at(-1) ?? 0) + step)
  return starts.map((start, index) => {
    const end = Math.min(start + room, count)
    const next = starts[index + 1]
    const before = starts[index - 1]
    return {
      start,
      end,
      ownedStart: before === undefined ? 0 : middle(start, before + room),
      ownedEnd: next === undefined ? count : middle(next, end),
    }
  })
}

function middle(start: number, end: number): number {
  return Math.floor((start + end) / 2)
}
