// Which segments to merge, decided from their sizes alone.
//
// Segments fall into tiers, each eight times the size of the one below. A tier with eight segments
// becomes one segment, mostly of the next tier: a document is rewritten once per tier. Segments that
// are mostly deleted documents are rewritten on their own, so that the disk is given back.

/** All that the choice of a merge knows about a segment. `docCount` includes deleted documents. */
export interface SegmentSize {
  readonly id: number
  readonly bytes: number
  readonly docCount: number
  readonly deletedCount: number
}

/** The numbers that decide when segments are merged. A test passes small ones. */
export interface MergePolicy {
  readonly segmentsPerTier: number
  /** Segments smaller than this share the lowest tier. */
  readonly smallestBytes: number
  /** Segments that would become larger than this stay as they are. */
  readonly largestBytes: number
  readonly deletedRatioMax: number
}

export const defaultMergePolicy: MergePolicy = {
  segmentsPerTier: 8,
  smallestBytes: 2 * 2 ** 20,
  largestBytes: 4 * 2 ** 30,
  deletedRatioMax: 0.33,
}

/** The ids of the segments to merge next; undefined if none need it. */
export function chooseMerge(
  segments: readonly SegmentSize[],
  policy: MergePolicy,
): readonly number[] | undefined {
  return chooseTier(segments, policy) ?? chooseWasteful(segments, policy)
}

/**
 * For an index that nobody writes to: small segments are gathered until each is at least half as
 * large as those below it together, so that a search visits few.
 */
export function chooseSettledMerge(
  segments: readonly SegmentSize[],
  { largestBytes }: MergePolicy,
): readonly number[] | undefined {
  const sizes = segments
    .filter((segment) => liveBytes(segment) * 2 <= largestBytes)
    .toSorted((a, b) => liveBytes(a) - liveBytes(b))
  let below = 0
  let end = 0
  for (const [i, segment] of sizes.entries()) {
    const bytes = liveBytes(segment)
    if (i > 0 && bytes < below * 2) end = i + 1
    below += bytes
  }
  if (end === 0) return undefined
  return withinBytes(sizes.slice(0, end), largestBytes).map(({ id }) => id)
}

function chooseTier(
  segments: readonly SegmentSize[],
  policy: MergePolicy,
): readonly number[] | undefined {
  const tiers = new Map<number, SegmentSize[]>()
  for (const segment of segments) {
    if (liveBytes(segment) * 2 > policy.largestBytes) continue
    const tier = tierOf(liveBytes(segment), policy)
    tiers.set(tier, [...(tiers.get(tier) ?? []), segment])
  }
  for (const tier of [...tiers.keys()].toSorted((a, b) => a - b)) {
    const members = tiers.get(tier) ?? []
    if (members.length < policy.segmentsPerTier) continue
    const chosen = members
      .toSorted((a, b) => liveBytes(a) - liveBytes(b))
      .slice(0, policy.segmentsPerTier)
    return withinBytes(chosen, policy.largestBytes).map(({ id }) => id)
  }
  return undefined
}

function tierOf(bytes: number, { smallestBytes, segmentsPerTier }: MergePolicy): number {
  let tier = 0
  let bound = smallestBytes
  while (bytes >= bound) {
    tier += 1
    bound *= segmentsPerTier
  }
  return tier
}

/** The smallest segments that fit into `bytesMax` together, at least two. */
function withinBytes(segments: readonly SegmentSize[], bytesMax: number): readonly SegmentSize[] {
  let bytes = 0
  const fitting = segments.findIndex((segment) => {
    bytes += liveBytes(segment)
    return bytes > bytesMax
  })
  return fitting < 0 ? segments : segments.slice(0, Math.max(2, fitting))
}

function chooseWasteful(
  segments: readonly SegmentSize[],
  { deletedRatioMax }: MergePolicy,
): readonly number[] | undefined {
  const ratioOf = ({ deletedCount, docCount }: SegmentSize): number =>
    docCount === 0 ? 1 : deletedCount / docCount
  const [worst] = segments.toSorted((a, b) => ratioOf(b) - ratioOf(a))
  return worst === undefined || ratioOf(worst) <= deletedRatioMax ? undefined : [worst.id]
}

function liveBytes({ bytes, docCount, deletedCount }: SegmentSize): number {
  return docCount === 0 ? 0 : (bytes * (docCount - deletedCount)) / docCount
}
