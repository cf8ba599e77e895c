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
