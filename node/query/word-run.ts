/**
 * Whether `run` is in `words` from one place on, without gaps. Knuth, Morris and Pratt: at most
 * two steps for each word, however often the run begins in vain. An empty run is nowhere.
 */
export function containsRun(words: readonly string[], run: readonly string[]): boolean {
  if (run.length === 0 || run.length > words.length) return false
  const borders = bordersOf(run)
  let matched = 0
  for (const word of words) {
    matched = extend(run, borders, { matched, word })
    if (matched === run.length) return true
  }
  return false
}

/** For each length, the longest shorter beginning of the run that also ends there. */
function bordersOf(run: readonly string[]): readonly number[] {
  const borders = [0]
  let matched = 0
  for (const word of run.slice(1)) {
    matched = extend(run, borders, { matched, word })
    borders.push(matched)
  }
  return borders
}

function extend(
  run: readonly string[],
  borders: readonly number[],
  { matched, word }: { readonly matched: number; readonly word: string },
): number {
  let length = matched
  while (length > 0 && run[length] !== word) length = borders[length - 1] ?? 0
  return run[length] === word ? length + 1 : 0
}
