import type { Pruner } from '../../query/request/pruner-request.ts'

interface Scored {
  readonly score: number
}

/** The deviation of fewer hits says nothing about them. */
const DEVIATION_HITS_MIN = 3

/** `hits` begin with the best, and so do those that are left. */
export function pruneHits<Hit extends Scored>(
  hits: readonly Hit[],
  pruner: Pruner,
): readonly Hit[] {
  const { minScore = 0, minRatio = 0, deviationsMax = Infinity, gapMax = Infinity } = pruner
  const [best] = hits
  const floor = Math.max(minScore, minRatio * (best?.score ?? 0))
  const good = hits.filter(({ score }) => score >= floor)
  return beforeGap(withoutOutliers(good, deviationsMax), gapMax)
}

function withoutOutliers<Hit extends Scored>(
  hits: readonly Hit[],
  deviationsMax: number,
): readonly Hit[] {
  if (hits.length < DEVIATION_HITS_MIN || deviationsMax === Infinity) return hits
  const mean = hits.reduce((sum, { score }) => sum + score, 0) / hits.length
  const variance = hits.reduce((sum, { score }) => sum + (score - mean) ** 2, 0) / hits.length
  const floor = mean - deviationsMax * Math.sqrt(variance)
  return hits.filter(({ score }) => score >= floor)
}

function beforeGap<Hit extends Scored>(hits: readonly Hit[], gapMax: number): readonly Hit[] {
  const range = (hits[0]?.score ?? 0) - (hits.at(-1)?.score ?? 0)
  if (range === 0 || gapMax === Infinity) return hits
  const end = hits.findIndex(
    ({ score }, i) => i > 0 && (hits[i - 1]?.score ?? 0) - score > gapMax * range,
  )
  return end < 0 ? hits : hits.slice(0, end)
}
