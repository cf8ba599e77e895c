/** Words that a model sees at once, of which it decides about the spans that begin in `owned`. */
export interface WordWindow {
  readonly start: number
  readonly end: number
  readonly ownedStart: number
  readonly ownedEnd: number
}

export interface WindowLimits {
  readonly wordsMax: number
  readonly tokensMax: number
}

const SHARED_RATIO = 0.25

/**
 * Windows over words of these token counts; neighbours share about a quarter of their words. Every
 * word is owned once: of what two windows share, each owns the half that is farther from its edge.
 */
export function buildWordWindows(
  tokenCounts: readonly number[],
  limits: WindowLimits,
): WordWindow[] {
  const windows: WordWindow[] = []
  let start = 0
  let ownedStart = 0
  for (;;) {
    const end = endOfWindow(tokenCounts, start, limits)
    if (end === tokenCounts.length) {
      windows.push({ start, end, ownedStart, ownedEnd: end })
      return windows
    }
    const next = Math.max(start + 1, end - Math.floor((end - start) * SHARED_RATIO))
    const ownedEnd = Math.floor((next + end) / 2)
    windows.push({ start, end, ownedStart, ownedEnd })
    start = next
    ownedStart = ownedEnd
  }
}

/** At least one word, though it be too long. */
function endOfWindow(
  tokenCounts: readonly number[],
  start: number,
  { wordsMax, tokensMax }: WindowLimits,
): number {
  let end = start
  let tokens = 0
  while (end < tokenCounts.length && end - start < wordsMax) {
    tokens += tokenCounts[end] ?? 0
    if (tokens > tokensMax && end > start) break
    end += 1
  }
  return end
}
