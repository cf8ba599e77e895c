import { ServiceError } from '../../../lib/errors.ts'
import { matchesOf, sliceAligned } from './aligned-text.ts'
import type { AlignedText } from './aligned-text.ts'

/** What becomes of the matches of a pattern that splits a text, as the reference names it. */
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
  /** What lies between two matches counts as a match. */
  readonly isInverted: boolean
}

interface Part {
  readonly start: number
  readonly end: number
  readonly isMatch: boolean
}

export function parseSplitBehavior(behavior: unknown): SplitBehavior {
  const found = SPLIT_BEHAVIORS.find((known) => known === behavior)
  if (found !== undefined) return found
  const known = SPLIT_BEHAVIORS.join(', ')
  throw new ServiceError('INVALID_ARGUMENT', `tokenizer.json: "behavior" must be one of ${known}`)
}

/** Never gives an empty piece. The pattern must be global. */
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

/** A match may be empty: it keeps apart what lies around it. */
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

/** Joins a part to the one before it where `joins` of the two as they were split says so. */
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
