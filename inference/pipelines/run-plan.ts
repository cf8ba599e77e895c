// Plans which rows run together, once their lengths are known. A batch arrives with estimated lengths,
// which may be wrong by a large factor: four characters are one token of English or four of Chinese.

import { isNearlyAsLong } from '../batching/open-batch.ts'
import type { FixedShape } from '../runtime/graph-feeds.ts'

/** The most tokens of one run, padding included. Work can be aborted only between two runs. */
const TOKENS_PER_RUN_MAX = 1024

/** One run of a graph. */
export interface PlannedRun<Row> {
  readonly rows: readonly Row[]
  /** `rows`, with the last one repeated up to the graph's fixed batch size. */
  readonly filled: readonly Row[]
}

/** The properties of rows and graph that decide the runs. */
export interface RowShape<Row> {
  readonly lengthOf: (row: Row) => number
  /** The fixed sizes of the graph. */
  readonly fixed: FixedShape
  /** True: each row runs by itself. Absent: false. */
  readonly isApart?: boolean
}

/**
 * Plans runs of rows of nearly one length, the longest first. A run has at most `TOKENS_PER_RUN_MAX`
 * padded tokens, unless a single row or the graph's fixed size is larger. Every row is in one run.
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
