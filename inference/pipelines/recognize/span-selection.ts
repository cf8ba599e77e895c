/** A run of words, both ends included, that may be an entity. */
export interface SpanCandidate {
  readonly firstWord: number
  readonly lastWord: number
  /** The index of the label. */
  readonly label: number
  readonly score: number
}

/** Which spans of a text may be kept together. */
export interface SelectionRules {
  /** True: spans do not overlap. False: one span may lie within another. */
  readonly flat: boolean
  /** True: the same words may have several labels. */
  readonly multiLabel: boolean
}

/**
 * Keeps the best spans that do not conflict, in the order of the text. Of equal scores it prefers the
 * span that starts first, then the shorter one, then the one with the first label.
 */
export function selectSpans(
  candidates: readonly SpanCandidate[],
  rules: SelectionRules,
): SpanCandidate[] {
  const kept: SpanCandidate[] = []
  const keptByWord = new Map<number, SpanCandidate[]>()
  for (const candidate of candidates.toSorted(compareScores)) {
    const words = wordsOf(candidate)
    const isFree = words.every((word) =>
      (keptByWord.get(word) ?? []).every((other) => !areInConflict(candidate, other, rules)),
    )
    if (!isFree) continue
    kept.push(candidate)
    for (const word of words) keptByWord.set(word, [...(keptByWord.get(word) ?? []), candidate])
  }
  return kept.toSorted(comparePlaces)
}

function wordsOf({ firstWord, lastWord }: SpanCandidate): number[] {
  return Array.from({ length: lastWord - firstWord + 1 }, (_, index) => firstWord + index)
}

function compareScores(left: SpanCandidate, right: SpanCandidate): number {
  return right.score - left.score || comparePlaces(left, right)
}

function comparePlaces(left: SpanCandidate, right: SpanCandidate): number {
  return (
    left.firstWord - right.firstWord || left.lastWord - right.lastWord || left.label - right.label
  )
}

/** Whether two spans that share a word exclude each other. */
function areInConflict(
  left: SpanCandidate,
  right: SpanCandidate,
  { flat, multiLabel }: SelectionRules,
): boolean {
  if (left.firstWord === right.firstWord && left.lastWord === right.lastWord) return !multiLabel
  return flat || !isWithin(left, right)
}

function isWithin(left: SpanCandidate, right: SpanCandidate): boolean {
  return (
    (left.firstWord <= right.firstWord && left.lastWord >= right.lastWord) ||
    (right.firstWord <= left.firstWord && right.lastWord >= left.lastWord)
  )
}
