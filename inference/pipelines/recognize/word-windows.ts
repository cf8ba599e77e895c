import { buildWindows } from '../../text/token-windows.ts'
import type { TextWindow } from '../../text/token-windows.ts'

/** The most words and tokens of one window. */
export interface WindowLimits {
  readonly wordsMax: number
  readonly tokensMax: number
}

/** Windows over words, each with its number of tokens. */
export function buildWordWindows(
  tokenCounts: readonly number[],
  limits: WindowLimits,
): TextWindow[] {
  return buildWindows(tokenCounts.length, (start) => endOfWindow(tokenCounts, start, limits))
}

/** A window has at least one word, even if that is longer than the limit. */
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
