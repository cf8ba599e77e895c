/**
 * Whether a run of words is somewhere in others, without gaps; of each word there may be alternatives.
 * Bit i of the state says that the run up to word i ends here (Baeza-Yates and Gonnet: shift-and), so
 * that the work is the same for every text. An empty run is nowhere.
 */
export function buildRunTest(
  run: readonly (readonly string[])[],
): (words: readonly string[]) => boolean {
  const masks = new Map<string, bigint>()
  for (const [i, words] of run.entries()) {
    for (const word of words) masks.set(word, (masks.get(word) ?? 0n) | (1n << BigInt(i)))
  }
  const end = 1n << BigInt(Math.max(0, run.length - 1))
  return (words) => {
    let state = 0n
    for (const word of words) {
      state = ((state << 1n) | 1n) & (masks.get(word) ?? 0n)
      if ((state & end) !== 0n) return true
    }
    return false
  }
}
