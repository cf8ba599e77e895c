import type { FixedShape } from '../runtime/graph-feeds.ts'

/** Tokens of one run at most, padding included: between two runs work can be aborted. */
const TOKENS_PER_RUN_MAX = 1024

/** Rows of like lengths side by side, as many as fit into one run. */
export function groupForRuns<Row>(
  rows: readonly Row[],
  lengthOf: (row: Row) => number,
): (readonly Row[])[] {
  const groups: { readonly longest: number; readonly rows: Row[] }[] = []
  for (const row of rows.toSorted((left, right) => lengthOf(right) - lengthOf(left))) {
    const group = groups.at(-1)
    const fits =
      group !== undefined && group.longest * (group.rows.length + 1) <= TOKENS_PER_RUN_MAX
    if (fits) group.rows.push(row)
    else groups.push({ longest: lengthOf(row), rows: [row] })
  }
  return groups.map((group) => group.rows)
}

export interface RunBatch<Row> {
  readonly rows: readonly Row[]
  /** `rows`, and the last of them again until there are as many as the graph takes. */
  readonly filled: readonly Row[]
}

/** What a graph is run with at once: as many rows as it is fixed to, and not too many long ones. */
export function batchesForRuns<Row>(
  rows: readonly Row[],
  { rows: fixedRows, tokens }: FixedShape,
): RunBatch<Row>[] {
  const rowsMax =
    tokens === undefined ? rows.length : Math.max(1, Math.floor(TOKENS_PER_RUN_MAX / tokens))
  const size = fixedRows ?? rowsMax
  const batches: RunBatch<Row>[] = []
  for (let from = 0; from < rows.length; from += size) {
    const some = rows.slice(from, from + size)
    const missing = fixedRows === undefined ? 0 : fixedRows - some.length
    const fillers = Array.from({ length: missing }, () => some.slice(-1))
    batches.push({ rows: some, filled: some.concat(...fillers) })
  }
  return batches
}
