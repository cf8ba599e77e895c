/**
 * Builds a test whether words contain a run of words without gaps. Each position of the run may
 * have alternatives. Bit i of the state means that the run up to word i ends here (Baeza-Yates and
 * Gonnet: shift-and), so the cost per word is the same for every text. An empty run never matches.
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
