import { ServiceError } from '../../../lib/errors.ts'
import { matchesOf, sliceAligned } from '../aligned-text.ts'
import type { AlignedText } from '../aligned-text.ts'

/** What a split does with the matches of its pattern, by the reference's names. */
export const SPLIT_BEHAVIORS = [
  'Removed',
  'Isolated',
  'MergedWithPrevious',
  'MergedWithNext',
  'Contiguous',
] as const
export type SplitBehavior = (typeof SPLIT_BEHAVIORS)[number]

interface SplitRule {
  readonly behavior: SplitBehavior
  /** True: the texts between matches count as the matches. */
  readonly isInverted: boolean
}

interface Part {
  readonly start: number
  readonly end: number
  readonly isMatch: boolean
}

/** Throws INVALID_ARGUMENT for an unknown behavior. */
export function parseSplitBehavior(behavior: unknown): SplitBehavior {
  const found = SPLIT_BEHAVIORS.find((known) => known === behavior)
  if (found !== undefined) return found
  const known = SPLIT_BEHAVIORS.join(', ')
  throw new ServiceError('INVALID_ARGUMENT', `tokenizer.json: "behavior" must be one of ${known}`)
}

/** Splits a piece at the matches of a global pattern. It returns no empty pieces. */
export function splitAligned(
  piece: AlignedText,
  pattern: RegExp,
  { behavior, isInverted }: SplitRule,
): AlignedText[] {
  const parts = partsOf(piece.text, pattern, isInverted)
  return mergers[behavior](parts)
    .filter(({ start, end }) => end > start)
    .map(({ start, end }) => sliceAligned(piece, start, end))
}

/** Keeps empty matches, because they separate the texts around them. */
function partsOf(text: string, pattern: RegExp, isInverted: boolean): Part[] {
  const parts: Part[] = []
  let from = 0
  const addBetween = (end: number): void => {
    if (end > from) parts.push({ start: from, end, isMatch: isInverted })
  }
  for (const { start, end } of matchesOf(text, pattern)) {
    addBetween(start)
    parts.push({ start, end, isMatch: !isInverted })
    from = end
  }
  addBetween(text.length)
  return parts
}

const mergers: Record<SplitBehavior, (parts: readonly Part[]) => readonly Part[]> = {
  Removed: (parts) => parts.filter(({ isMatch }) => !isMatch),
  Isolated: (parts) => parts,
  Contiguous: (parts) => merge(parts, (before, part) => before.isMatch === part.isMatch),
  MergedWithPrevious: (parts) => merge(parts, (before, part) => part.isMatch && !before.isMatch),
  MergedWithNext: mergeWithNext,
}

/** Appends a part to the one before it where `joins` says so. `joins` sees both as they were split. */
function merge(
  parts: readonly Part[],
  joins: (before: Part, part: Part) => boolean,
): readonly Part[] {
  const merged: Part[] = []
  for (const [index, part] of parts.entries()) {
    const before = parts[index - 1]
    const last = merged.at(-1)
    if (before === undefined || last === undefined || !joins(before, part)) merged.push(part)
    else merged[merged.length - 1] = { ...last, end: part.end }
  }
  return merged
}

function mergeWithNext(parts: readonly Part[]): readonly Part[] {
  const merged: Part[] = []
  for (const [index, part] of parts.entries()) {
    const before = parts[index - 1]
    const isJoined = before?.isMatch === true && !part.isMatch
    const last = merged.at(-1)
    if (isJoined && last !== undefined) merged[merged.length - 1] = { ...last, end: part.end }
    else merged.push(part)
  }
  return merged
}
