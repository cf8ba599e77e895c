// Which rows run together once their lengths are known. A batch comes in with estimated lengths, which
// may be wrong several times over: four characters are a token of English and four tokens of Chinese.

import { isNearlyAsLong } from '../batching/batch-queue.ts'
import type { FixedShape } from '../runtime/graph-feeds.ts'

/** Tokens of one run at most, padding included: between two runs work can be aborted. */
const TOKENS_PER_RUN_MAX = 1024

export interface PlannedRun<Row> {
  readonly rows: readonly Row[]
  /** `rows`, and the last of them again until there are as many as the graph takes. */
  readonly filled: readonly Row[]
}

export interface RowShape<Row> {
  readonly lengthOf: (row: Row) => number
  /** What the graph is fixed to. */
  readonly fixed: FixedShape
  /** Whether no two rows may share a run; default no. */
  readonly isApart?: boolean
}

/**
 * Runs of rows of nearly one length, the longest first, of `TOKENS_PER_RUN_MAX` padded tokens at most
 * unless one row or the graph's own size is more. Every row is in one run.
 */
export function planRuns<Row>(
  rows: readonly Row[],
  { lengthOf, fixed, isApart = false }: RowShape<Row>,
): PlannedRun<Row>[] {
  const widthOf = (row: Row): number => fixed.tokens ?? lengthOf(row)
  const groups: Row[][] = []
  for (const row of rows.toSorted((left, right) => widthOf(right) - widthOf(left))) {
    const group = groups.at(-1)
    const [longest] = group ?? []
    const fits =
      group !== undefined &&
      longest !== undefined &&
      !isApart &&
      group.length < roomFor(widthOf(longest), fixed) &&
      isNearlyAsLong(widthOf(row), widthOf(longest))
    if (fits) group.push(row)
    else groups.push([row])
  }
  return groups.map((group) => ({ rows: group, filled: fill(group, fixed) }))
}

function roomFor(width: number, { rows }: FixedShape): number {
  return rows ?? Math.floor(TOKENS_PER_RUN_MAX / width)
}

function fill<Row>(rows: readonly Row[], { rows: fixedRows = rows.length }: FixedShape): Row[] {
  const fillers = Array.from({ length: fixedRows - rows.length }, () => rows.slice(-1))
  return rows.concat(...fillers)
}
