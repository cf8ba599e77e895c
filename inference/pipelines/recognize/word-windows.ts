import { buildWindows } from '../../text/token-windows.ts'
import type { TextWindow } from '../../text/token-windows.ts'

export interface WindowLimits {
  readonly wordsMax: number
  readonly tokensMax: number
}

/** Windows over words of these token counts. */
export function buildWordWindows(
  tokenCounts: readonly number[],
  limits: WindowLimits,
): TextWindow[] {
  return buildWindows(tokenCounts.length, (start) => endOfWindow(tokenCounts, start, limits))
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
