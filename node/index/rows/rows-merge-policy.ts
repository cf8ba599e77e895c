// Which segments of a vector index to merge, decided from their sizes alone.
//
// A row that gets into a graph costs as much as several searches; a row without one costs every search a
// comparison. So what was flushed is gathered until it is worth a graph, and then the rows are added to the
// largest graph that has room: a copy of its file is extended, and the other rows of it are not touched. The copy costs
// as much as its bytes, so a large graph waits for many rows, which have a graph of their own meanwhile. Where many
// documents are dead, a segment is written again without them, because their rows lie in the way of searches.
//
// A graph takes seconds or minutes, and writers may bring rows faster than they get into one. So rows are sorted into
// lists first, which takes a twentieth of the time: searches compare with few of them while they wait for a graph. While one
// is made, other segments that have lists are merged by tiers: four of about one size become one of the next, so that
// searches have few segments to visit, however far graphs are behind.

/** All that the choice knows of a segment. Rows of deleted documents count. */
export interface RowsSize {
  readonly id: number
  readonly rowCount: number
  readonly docCount: number
  /** Deleted documents, which a merge can leave out. */
  readonly deletedCount: number
  readonly hasGraph: boolean
  /** Beside a graph, or alone. */
  readonly hasLists: boolean
}

/** The numbers that decide. A test passes small ones. */
export interface MergePolicy {
  /** Segments with fewer rows together get no graph. */
  readonly graphRowsMin: number
  /** The same while nothing is written: each search compares with all of them. */
  readonly settledGraphRowsMin: number
  /** How many segments without a graph are merged, if they are of about one size. */
  readonly tierCount: number
  /** Segments with fewer rows together get no lists. */
  readonly listedRowsMin: number
  /** The most rows of a graph. */
  readonly rowsMax: number
  /** The share of dead documents at which a segment is written again. */
  readonly deletedRatioMax: number
  /** A graph is extended when this share of its rows, or more, is to be added. */
  readonly extendedRatio: number
  /** The same while nothing is written. */
  readonly settledRatio: number
}

/** What to merge next. */
export interface RowsChoice {
  readonly ids: readonly number[]
  /** The first segment of the merge, if its graph and lists, or its lists alone, are extended. */
  readonly base: number | undefined
  readonly makes: FoundBy
}

/** How the rows of a segment are found: one by one, in lists, or by a graph, beside which lists are. */
export type FoundBy = 'rows' | 'lists' | 'graph'

/** What to merge without a graph, while one is made of other segments. Undefined if there is nothing. */
export function chooseListed(
  segments: readonly RowsSize[],
  policy: MergePolicy,
): RowsChoice | undefined {
  return chooseUnlisted(segments, policy) ?? chooseTier(segments, policy)
}

function chooseUnlisted(
  segments: readonly RowsSize[],
  { listedRowsMin, rowsMax }: MergePolicy,
): RowsChoice | undefined {
  const unlisted = segments.filter(({ hasGraph, hasLists }) => !hasGraph && !hasLists)
  const chosen = within(unlisted.toSorted(bySize), rowsMax)
  if (chosen.length === 0 || rowsOf(chosen) < listedRowsMin) return undefined
  return { ids: chosen.map(({ id }) => id), base: undefined, makes: 'lists' }
}

function chooseTier(segments: readonly RowsSize[], policy: MergePolicy): RowsChoice | undefined {
  const { tierCount, rowsMax } = policy
  const tierOf = ({ rowCount }: RowsSize): number => {
    return Math.floor(Math.log(Math.max(1, rowCount)) / Math.log(tierCount))
  }
  const bySizes = segments.filter(({ hasGraph }) => !hasGraph).toSorted(bySize)
  for (const tier of new Set(bySizes.map(tierOf))) {
    const chosen = within(
      bySizes.filter((one) => tierOf(one) <= tier),
      rowsMax,
    )
    if (chosen.filter((one) => tierOf(one) === tier).length >= tierCount) {
      return { ids: chosen.map(({ id }) => id), base: undefined, makes: kindOf(chosen, policy) }
    }
  }
  return undefined
}

/**
 * What else happens when a merge is chosen: nothing, also no write; writes; or another merge is sorting rows into lists. Then
 * graphs come first: writers who are faster than lists are made would keep rows from their graphs.
 */
export type MergeMoment = 'settled' | 'writing' | 'listing'

/** What to merge by its graphs. Undefined if there is nothing. */
export function chooseMerge(
  segments: readonly RowsSize[],
  policy: MergePolicy,
  moment: MergeMoment,
): RowsChoice | undefined {
  const isSettled = moment === 'settled'
  return (
    chooseWasteful(segments, policy) ??
    (moment === 'listing' ? undefined : chooseUnlisted(segments, policy)) ??
    chooseExtension(segments, policy, isSettled) ??
    chooseGraph(segments, policy, isSettled) ??
    chooseTier(segments, policy)
  )
}

function chooseWasteful(
  segments: readonly RowsSize[],
  policy: MergePolicy,
): RowsChoice | undefined {
  const { deletedRatioMax } = policy
  const wasteful = segments.find(({ docCount, deletedCount }) => {
    return deletedCount > 0 && deletedCount >= docCount * deletedRatioMax
  })
  if (wasteful === undefined) return undefined
  const makes = wasteful.hasGraph ? 'graph' : kindOf([wasteful], policy)
  return { ids: [wasteful.id], base: undefined, makes }
}

/** Adds all smaller segments that fit to the largest graph with room, if they are many rows together. */
function chooseExtension(
  segments: readonly RowsSize[],
  policy: MergePolicy,
  isSettled: boolean,
): RowsChoice | undefined {
  const ratio = isSettled ? policy.settledRatio : policy.extendedRatio
  const bases = segments
    .filter(({ hasGraph }) => hasGraph)
    .toSorted(bySize)
    .toReversed()
  for (const base of bases) {
    const smaller = segments.filter((one) => one !== base && bySize(one, base) <= 0)
    const added = within(smaller.toSorted(bySize), policy.rowsMax - base.rowCount)
    const rows = rowsOf(added)
    if (rows < Math.max(1, base.rowCount * ratio)) continue
    return { ids: [base, ...added].map(({ id }) => id), base: base.id, makes: 'graph' }
  }
  return undefined
}

function chooseGraph(
  segments: readonly RowsSize[],
  { graphRowsMin, settledGraphRowsMin, rowsMax }: MergePolicy,
  isSettled: boolean,
): RowsChoice | undefined {
  const flat = segments.filter(({ hasGraph }) => !hasGraph)
  const rowsMin = isSettled ? settledGraphRowsMin : graphRowsMin
  const [smallest] = flat.toSorted(bySize)
  if (smallest === undefined || rowsOf(flat) < rowsMin) return undefined
  const chosen = within(flat.toSorted(bySize), rowsMax)
  const merged = chosen.length > 0 ? chosen : [smallest]
  // The lists of the largest are kept if all of its rows are.
  const largest = merged.at(-1)
  const base = largest?.hasLists === true && largest.deletedCount === 0 ? largest : undefined
  const ordered = base === undefined ? merged : [base, ...merged.filter((one) => one !== base)]
  return { ids: ordered.map(({ id }) => id), base: base?.id, makes: 'graph' }
}

/** What segments without a graph become together. */
function kindOf(segments: readonly RowsSize[], { listedRowsMin }: MergePolicy): FoundBy {
  return rowsOf(segments) >= listedRowsMin ? 'lists' : 'rows'
}

/** The first segments that have at most `rowsMax` rows together. */
function within(segments: readonly RowsSize[], rowsMax: number): readonly RowsSize[] {
  let rows = 0
  return segments.filter(({ rowCount }) => {
    rows += rowCount
    return rows <= rowsMax
  })
}

function rowsOf(segments: readonly RowsSize[]): number {
  return segments.reduce((sum, { rowCount }) => sum + rowCount, 0)
}

function bySize(a: RowsSize, b: RowsSize): number {
  return a.rowCount - b.rowCount || a.id - b.id
}
