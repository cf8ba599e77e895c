// How a segment is searched, decided from numbers alone: by its graph, or by comparing with every vector that
// may be a hit. A graph knows no filter, so it is asked for as many rows as the share that passes makes necessary,
// GRAPH_COUNT_MAX at most; where few pass, comparing with those costs less.

/** The most rows that a graph is asked for: some milliseconds, in one step. */
const GRAPH_COUNT_MAX = 4096

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

/** The graph answered `count` rows, and too few of them passed. */
export function nextCount(count: number, search: SearchCase): number | undefined {
  return affordable(count * 2, search)
}

/** Not all rows of a document with very many are among the nearest. */
export const ROWS_COUNTED_MAX = 8

/** The cost of one row of a graph, in comparisons. */
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
 * Lists take as long as a graph that looks at as many times its width as the factor says. A graph finds little for a query whose neighbours do
 * not pass, and nothing tells that before: behind a filter, lists in memory come first.
 */
function listsFactor({ lists, selected }: SearchCase): number {
  if (lists === 'none') return Infinity
  return lists === 'resident' && selected < SELECTED_MAX ? 0 : 1.5
}

/** Behind a filter that more pass, the graph finds enough. */
const SELECTED_MAX = 0.75

/** The most passing rows that are compared exactly: reading lists takes longer where they are not in memory. */
export function exactRows(hasListsInMemory: boolean): number {
  return hasListsInMemory ? 256 : 2048
}

/** What decides how far a search has to look. */
export interface NeededCase {
  readonly limit: number
  /** See `SearchCase`. */
  readonly passing: number
}

/** How many passing documents a graph has to find for `limit` hits. */
export function neededCount(rescored: number, { limit, passing }: NeededCase): number {
  return passing < 1 ? Math.max(rescored, Math.ceil(limit * 1.5) + EDGE) : rescored
}

/** Rows at the edge of a search are not always the nearest ones. */
const EDGE = 30
