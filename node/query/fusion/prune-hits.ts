// Drops hits that are much worse than others. The rules apply one after the other, each to what the
// rule before it left:
//
//   several indexes ──► least score ──► share of the best ──► deviations below the mean ──► gap ──► jump

import { countBeforeJump } from './autocut.ts'
import type { Pruner } from '../request/pruner-request.ts'

interface Scored {
  readonly score: number
}

/** The deviation of fewer hits says nothing about them. */
const DEVIATION_HITS_MIN = 3

/**
 * `hits` begin with the best, and so do those that are left. `indexCountOf` tells in how many indexes a hit was
 * found.
 */
export function pruneHits<Hit extends Scored>(
  hits: readonly Hit[],
  pruner: Pruner,
  indexCountOf: (hit: Hit) => number,
): readonly Hit[] {
  const {
    minScore = -Infinity,
    minRatio,
    deviationsMax = Infinity,
    gapMax = Infinity,
    autocut,
  } = pruner
  const found = pruner.isMultiIndex ? hits.filter((hit) => indexCountOf(hit) > 1) : hits
  const good = found.filter(({ score }) => score >= minScore)
  const near = minRatio === undefined ? good : aboveRatio(good, minRatio)
  return beforeJump(beforeGap(withoutOutliers(near, deviationsMax), gapMax), autocut)
}

/** Scores of rerankers may be negative: there, twice as bad is twice as far below zero. */
function aboveRatio<Hit extends Scored>(hits: readonly Hit[], minRatio: number): readonly Hit[] {
  const best = hits[0]?.score ?? 0
  const floor = best < 0 ? best / minRatio : best * minRatio
  return hits.filter(({ score }) => score >= floor)
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

function beforeJump<Hit extends Scored>(
  hits: readonly Hit[],
  jumps: number | undefined,
): readonly Hit[] {
  if (jumps === undefined) return hits
  const scores = hits.map(({ score }) => score)
  return hits.slice(0, countBeforeJump(scores, jumps))
}
