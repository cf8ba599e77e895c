// Makes one list of hits from the lists of several indexes.
//
//   rrf       each list gives a hit weight / (rank constant + rank), rank from 1
//   rsf       each list gives weight × its value between the worst (0) and the best (1) of its window
//   failover  the lists of vectors alone, by rrf; without any of these, the others
//
// Invariants:
//   FU1  A document is one hit, whatever number of lists has it: its shares add up.
//   FU2  Of two hits the one with the higher score comes first; of equals, the one with the smaller key.
//   FU3  The result depends on the order of the lists only by the rounding of sums.

import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { sortSliced } from '../../document/sliced-sort.ts'
import type { MergeStrategy } from '../request/merge-request.ts'

/** One hit of one index: a score, or the distance or the inner product of a vector. */
export interface RankedHit {
  /** The document's key, UTF-8. A list has it once. */
  readonly key: Uint8Array
  readonly value: number
}

/** What one index found, the best first. */
export interface RankedList<Hit extends RankedHit = RankedHit> {
  /** Under this name `_index_scores` shows the values. */
  readonly name: string
  /**
   * What the values are: scores of words, or of vectors their distances, of which smaller ones are better, or their
   * inner products.
   */
  readonly measure: 'score' | 'distance' | 'product'
  /** Multiplies what the list gives to a hit. */
  readonly weight: number
  readonly hits: readonly Hit[]
}

/** Where a fused hit was found. */
export interface FoundIn<Hit extends RankedHit = RankedHit> {
  readonly list: RankedList<Hit>
  /** From 1. */
  readonly rank: number
  /** What the list added to the score. */
  readonly share: number
  readonly hit: Hit
}

/** One document of the fused list. */
export interface FusedHit<Hit extends RankedHit = RankedHit> {
  readonly key: Uint8Array
  readonly score: number
  /** In the order of the lists. */
  readonly found: readonly FoundIn<Hit>[]
}

/** How lists are fused. */
export interface FusionOptions {
  readonly strategy: MergeStrategy
  /** For `rrf`: the larger it is, the less the first ranks stand out. At least 0. */
  readonly rankConstant: number
  /** How many hits of each list count. */
  readonly windowSize: number
}

/** Hits that are united or scored in about a millisecond. */
const HITS_PER_STEP = 1500

interface Gathered<Hit extends RankedHit> {
  readonly key: Uint8Array
  score: number
  readonly found: FoundIn<Hit>[]
}

/** The hits of all lists, the best first (FU1, FU2). */
export function* fuseLists<Hit extends RankedHit>(
  lists: readonly RankedList<Hit>[],
  options: FusionOptions,
): Sliced<readonly FusedHit<Hit>[]> {
  const meter = new StepMeter(HITS_PER_STEP)
  const byKey = new Map<string, Gathered<Hit>>()
  for (const list of usedLists(lists, options.strategy)) {
    const hits = list.hits.slice(0, options.windowSize)
    const shareOf = buildShares(list, hits, options)
    for (const [i, hit] of hits.entries()) {
      if (meter.spend(1)) yield
      const name = keyText(hit.key)
      const known = byKey.get(name) ?? { key: hit.key, score: 0, found: [] }
      if (known.found.length === 0) byKey.set(name, known)
      const rank = i + 1
      const share = shareOf(hit.value, rank)
      known.score += share
      known.found.push({ list, rank, share, hit })
    }
  }
  return yield* sortSliced([...byKey.values()], compareFused)
}

/** A text that no other key has. */
function keyText(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}

/** The raw value that each index gave, by the name of its list. */
export function indexScoresOf({ found }: FusedHit): Readonly<Record<string, number>> {
  return Object.fromEntries(found.map(({ list, hit }) => [list.name, hit.value]))
}

/** How a list counted in the score of a hit. */
export interface IndexRank {
  /** From 1. */
  readonly rank: number
  readonly weight: number
  readonly share: number
}

/** By the name of its list, what each index added to the score: all of it, in this order, is the score. */
export function indexRanksOf({ found }: FusedHit): Readonly<Record<string, IndexRank>> {
  return Object.fromEntries(
    found.map(({ list, rank, share }) => [list.name, { rank, weight: list.weight, share }]),
  )
}

export function isOfVectors({ measure }: Pick<RankedList, 'measure'>): boolean {
  return measure !== 'score'
}

function usedLists<Hit extends RankedHit>(
  lists: readonly RankedList<Hit>[],
  strategy: MergeStrategy,
): readonly RankedList<Hit>[] {
  if (strategy !== 'failover') return lists
  const ofVectors = lists.filter(isOfVectors)
  return ofVectors.length > 0 ? ofVectors : lists
}

/** What a list gives to its hit of a value and a rank. */
function buildShares(
  { measure, weight }: Pick<RankedList, 'measure' | 'weight'>,
  hits: readonly RankedHit[],
  { strategy, rankConstant }: FusionOptions,
): (value: number, rank: number) => number {
  if (strategy !== 'rsf') return (_, rank) => weight / (rankConstant + rank)
  const sign = measure === 'distance' ? -1 : 1
  // The hits are in the order of their values.
  const best = sign * (hits[0]?.value ?? 0)
  const worst = sign * (hits.at(-1)?.value ?? 0)
  const range = best - worst
  // A flat list has no worse and no better hits. So has one whose values are beyond all scales.
  if (range <= 0 || !Number.isFinite(range)) return () => weight
  // Divided first, so that the best hit of every list gets its weight exactly, and such hits are equals.
  return (value) => weight * ((sign * value - worst) / range)
}

/** FU2. */
function compareFused(a: FusedHit, b: FusedHit): number {
  return a.score === b.score ? Buffer.compare(a.key, b.key) : b.score - a.score
}
