// How a segment is searched, decided from numbers alone: by its graph, or by comparing with every vector that
// may be a hit. A graph knows no filter, so it is asked for so many rows that enough of them pass; where few
// pass, comparing with those costs less.

import type { Quantization } from '../../../embedding/settings.ts'

/** The most rows that a graph is asked for: some milliseconds, in one step. */
const GRAPH_COUNT_MAX = 4096

/** Rows looked at by effort 0 and by effort 1; between them, the same factor for the same difference. */
const WIDTH_MIN = 16
const WIDTH_MAX = 1024

/** How far a graph looks around for a given effort (0 to 1). */
export function widthOf(effort: number): number {
  return Math.round(WIDTH_MIN * (WIDTH_MAX / WIDTH_MIN) ** effort)
}

/** Candidates whose exact distances are computed, for each hit wanted, and at least. */
const RESCORED: Readonly<Record<Quantization, { readonly each: number; readonly least: number }>> =
  {
    f32: { each: 1, least: 1 },
    f16: { each: 1.25, least: 16 },
    i8: { each: 3, least: 48 },
    binary: { each: 16, least: 512 },
  }

/** How many documents are compared exactly so that the best of them are the hits. */
export function rescoredCount(quantization: Quantization, limit: number): number {
  const { each, least } = RESCORED[quantization]
  return Math.max(least, Math.ceil(limit * each))
}

/** What is known of a segment and a request before the search. */
export interface SearchCase {
  readonly rowCount: number
  /** The share of the documents that are live and pass the filter, about. */
  readonly passing: number
  /** Rows of a document, on average. */
  readonly rowsPerDocument: number
  /** How many documents are compared exactly. */
  readonly rescored: number
  readonly width: number
}

/** More rows than the average needs, so that a second search is rarely needed. */
const MARGIN = 1.2

/** How many rows to ask the graph for at first; undefined: compare with all that pass. */
export function firstCount(search: SearchCase): number | undefined {
  const wanted = search.rescored * Math.min(search.rowsPerDocument, ROWS_COUNTED_MAX)
  const share = Math.max(search.passing, 1 / search.rowCount)
  return affordable(Math.max(search.width, (wanted * (share < 1 ? MARGIN : 1)) / share), search)
}

/** After too few of so many rows passed. */
export function nextCount(count: number, search: SearchCase): number | undefined {
  return affordable(count * 2, search)
}

/** Not all rows of a document with very many are among the nearest. */
const ROWS_COUNTED_MAX = 8

/** In the time that one vector of a scan takes. */
const COST = { graphRow: 4, gatheredRow: 4, scannedRow: 1.2 } as const

function affordable(count: number, search: SearchCase): number | undefined {
  const { rowCount, passing } = search
  const wanted = Math.min(Math.ceil(count), rowCount)
  const byGraph = wanted * COST.graphRow
  const byScan = rowCount * Math.min(passing * COST.gatheredRow, COST.scannedRow)
  return wanted > GRAPH_COUNT_MAX || byGraph >= byScan ? undefined : wanted
}
