// Which segments of a vector index to merge, decided from their sizes alone.
//
// A row that gets into another graph costs a millisecond, and each segment costs a search another walk. So
// segments without a graph, which are cheap to write, are gathered until they are worth one; graphs are merged
// by tiers, each several times the size of the one below; and where many documents are dead, a segment is
// written again without them, because their rows lie in the way of searches.

/** All that the choice knows of a segment. Rows of deleted documents count. */
export interface SegmentSize {
  readonly id: number
  readonly rowCount: number
  readonly docCount: number
  /** Those that a merge can leave out. */
  readonly deletedCount: number
}

/** The numbers that decide. A test passes small ones. */
export interface MergePolicy {
  /** A segment with fewer rows has no graph. */
  readonly graphRowsMin: number
  readonly segmentsPerTier: number
  /** The most rows of a merged segment. */
  readonly rowsMax: number
  /** The share of dead documents at which a segment is written again. */
  readonly deletedRatioMax: number
}

/** The ids of the segments to merge next; undefined if none need it. */
export function chooseMerge(
  segments: readonly SegmentSize[],
  policy: MergePolicy,
): readonly number[] | undefined {
  return chooseWasteful(segments, policy) ?? chooseTier(segments, policy)
}

function chooseWasteful(
  segments: readonly SegmentSize[],
  { deletedRatioMax }: MergePolicy,
): readonly number[] | undefined {
  const wasteful = segments.find(({ docCount, deletedCount }) => {
    return deletedCount >= docCount * deletedRatioMax && deletedCount > 0
  })
  return wasteful === undefined ? undefined : [wasteful.id]
}

/** As many as fit of the smallest tier that is full. */
function chooseTier(
  segments: readonly SegmentSize[],
  policy: MergePolicy,
): readonly number[] | undefined {
  const tiers = Map.groupBy(
    segments.filter((segment) => liveRows(segment) * 2 <= policy.rowsMax),
    (segment) => tierOf(liveRows(segment), policy),
  )
  for (const tier of [...tiers.keys()].toSorted((a, b) => a - b)) {
    const members = (tiers.get(tier) ?? []).toSorted((a, b) => liveRows(a) - liveRows(b))
    const rows = members.reduce((sum, segment) => sum + liveRows(segment), 0)
    const isWorthGraph = tier === 0 && members.length > 1 && rows >= policy.graphRowsMin
    if (members.length < policy.segmentsPerTier && !isWorthGraph) continue
    const chosen = withinRows(members, policy.rowsMax)
    if (chosen.length > 1) return chosen.map(({ id }) => id)
  }
  return undefined
}

/** 0: without a graph. */
function tierOf(rows: number, { graphRowsMin, segmentsPerTier }: MergePolicy): number {
  let tier = 0
  for (let bound = graphRowsMin; rows >= bound; bound *= segmentsPerTier) tier += 1
  return tier
}

function withinRows(segments: readonly SegmentSize[], rowsMax: number): readonly SegmentSize[] {
  let rows = 0
  return segments.filter((segment) => {
    rows += liveRows(segment)
    return rows <= rowsMax
  })
}

function liveRows({ rowCount, docCount, deletedCount }: SegmentSize): number {
  return docCount === 0 ? 0 : (rowCount * (docCount - deletedCount)) / docCount
}
