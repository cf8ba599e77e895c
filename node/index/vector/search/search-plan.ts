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
    f16: { each: 1.25, least: 4 },
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
  /** How many of the rows found have to pass, so that no hit is at the edge of what the graph looked at. */
  readonly needed: number
  readonly width: number
  /** Whether the vectors are in memory. */
  readonly isResident: boolean
  /** The share of the live documents that pass the filter; 1 without one. */
  readonly selected: number
  /** Where the codes of lists are, if there are lists. */
  readonly lists: 'none' | 'read' | 'resident'
}

/** More rows than the average needs, so that a second search is rarely needed. */
const MARGIN = 1.2

/** How many rows to ask the graph for at first; undefined: compare with all that pass. */
export function firstCount(search: SearchCase): number | undefined {
  const wanted = search.needed * Math.min(search.rowsPerDocument, ROWS_COUNTED_MAX)
  const share = Math.max(search.passing, 1 / search.rowCount)
  return affordable(Math.max(search.width, (wanted * (share < 1 ? MARGIN : 1)) / share), search)
}

/** After too few of so many rows passed. */
export function nextCount(count: number, search: SearchCase): number | undefined {
  return affordable(count * 2, search)
}

/** Not all rows of a document with very many are among the nearest. */
export const ROWS_COUNTED_MAX = 8

/** In the time of a comparison. */
const GRAPH_ROW_COST = 4
/** A row that is compared, among those that pass, or when all are read one behind the other. */
const READ_COSTS = { gathered: 5, scanned: 1.6 } as const
const RESIDENT_COSTS = { gathered: 1, scanned: 1 } as const

function affordable(count: number, search: SearchCase): number | undefined {
  const { rowCount, passing } = search
  const costs = search.isResident ? RESIDENT_COSTS : READ_COSTS
  const wanted = Math.min(Math.ceil(count), rowCount)
  if (passing < 1 && wanted > search.width * listsFactor(search)) return undefined
  const byGraph = wanted * GRAPH_ROW_COST
  const byScan = rowCount * Math.min(passing * costs.gathered, costs.scanned)
  return wanted > GRAPH_COUNT_MAX || byGraph >= byScan ? undefined : wanted
}

/**
 * Lists take as long as a graph that looks at so many times its width. A graph finds little for a query whose neighbours do
 * not pass, and nothing tells that before: behind a filter, lists in memory come first.
 */
function listsFactor({ lists, selected }: SearchCase): number {
  if (lists === 'none') return Infinity
  return lists === 'resident' && selected < SELECTED_MAX ? 0 : 1.5
}

/** Behind a filter that more pass, the graph finds enough. */
const SELECTED_MAX = 0.75

/** So few rows that pass are compared exactly: reading lists takes longer where they are not in memory. */
export function exactRows(hasListsInMemory: boolean): number {
  return hasListsInMemory ? 256 : 2048
}

/** How long the search of lists goes without finding a nearer hit: in rows, and in lists that had some. */
export function patienceOf(
  effort: number,
  { rowCount, passing }: Pick<SearchCase, 'rowCount' | 'passing'>,
): { readonly rows: number; readonly lists: number } {
  const factor = 8 ** (effort * 2 - 1)
  // Where few rows pass, so many would be most of them.
  const few = Math.max(ROWS_IN_VAIN_MIN, (rowCount * passing) / 16)
  const rows = Math.round(Math.min(512, few) * factor)
  return { rows, lists: Math.max(1, Math.round(LISTS_IN_VAIN * factor)) }
}

const ROWS_IN_VAIN_MIN = 128
const LISTS_IN_VAIN = 8

/** What decides how far a search has to look. */
export interface NeededCase {
  readonly limit: number
  /** See `SearchCase`. */
  readonly passing: number
}

/** How many passing documents a graph has to find for so many hits. */
export function neededCount(rescored: number, { limit, passing }: NeededCase): number {
  return passing < 1 ? Math.max(rescored, Math.ceil(limit * 1.5) + EDGE) : rescored
}

/** Rows at the edge of a search are not always the nearest ones. */
const EDGE = 30
