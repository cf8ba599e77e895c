// What a search spends for an effort (0 to 1): how far it looks around, and how many candidates it compares exactly.

import type { Quantization } from '../../../embedding/settings.ts'

/** Rows looked at by effort 0 and by effort 1; between them, the same factor for the same difference. */
const WIDTH_MIN = 16
const WIDTH_MAX = 1024
/** What an index is searched with unless a query says otherwise. */
export const EFFORT_DEFAULT = 0.5

/** How far a graph looks around for a given effort (0 to 1). */
export function widthOf(effort: number): number {
  return Math.round(WIDTH_MIN * (WIDTH_MAX / WIDTH_MIN) ** effort)
}

/** Candidates whose exact distances are computed by the default effort, for each hit wanted, and at least. */
const RESCORED: Readonly<Record<Quantization, { readonly each: number; readonly least: number }>> =
  {
    f32: { each: 1, least: 1 },
    f16: { each: 1.25, least: 4 },
    i8: { each: 3, least: 48 },
    binary: { each: 16, least: 512 },
  }

/** Effort 1 compares eight times the candidates of the default effort, and effort 0 an eighth of them. */
const RESCORED_FACTOR = 8

/** What decides how many candidates are compared exactly. */
export interface RescoredCase {
  /** Hits wanted. */
  readonly limit: number
  readonly effort: number
  /** Candidates for each hit, whatever the effort and the numbers are; undefined: as many as those say. */
  readonly oversampling?: number | undefined
}

/** How many documents are compared exactly so that the best of them are the hits. */
export function rescoredCount(
  numbers: Quantization,
  { limit, effort, oversampling }: RescoredCase,
): number {
  if (oversampling !== undefined) return Math.ceil(limit * oversampling)
  const { each, least } = RESCORED[numbers]
  const factor = each === 1 ? 1 : RESCORED_FACTOR ** (effort / EFFORT_DEFAULT - 1)
  return Math.max(limit, Math.ceil(least * factor), Math.ceil(limit * each * factor))
}

/** How long the search of lists goes without finding a nearer hit: in rows, and in lists that had some. */
export function patienceOf(
  effort: number,
  { rowCount, passing }: { readonly rowCount: number; readonly passing: number },
): { readonly rows: number; readonly lists: number } {
  const factor = 8 ** (effort * 2 - 1)
  // Where few rows pass, ROWS_IN_VAIN_MAX would be a large part of them: a sixteenth of the passing rows does.
  const few = Math.max(ROWS_IN_VAIN_MIN, (rowCount * passing) / 16)
  const rows = Math.round(Math.min(ROWS_IN_VAIN_MAX, few) * factor)
  return { rows, lists: Math.max(1, Math.round(LISTS_IN_VAIN * factor)) }
}

const ROWS_IN_VAIN_MIN = 128
const ROWS_IN_VAIN_MAX = 512
const LISTS_IN_VAIN = 8
