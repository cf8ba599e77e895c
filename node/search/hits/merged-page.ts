// Pages of merged hits. The list is made anew for each page, and a cursor names a document in it.
//
// Invariants:
//   MP1  While no document changes, the pages after each other, from the first to the last, are the whole list, each hit
//        once; so are the pages before each other.
//   MP2  A page continues where the cursor's document is now. If it has left the window, the page begins with what comes
//        behind its former score and key.

import { ServiceError } from '../../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { indexRanksOf, indexScoresOf, type RankedList } from '../../query/fusion/fuse-lists.ts'
import {
  encodeMergedCursor,
  type MergedListId,
  type MergedPlace,
} from '../../query/request/merged-cursor.ts'
import { refuse } from '../../query/query-limits.ts'
import type { QueryPage } from '../../query/request/query-request.ts'
import type { PageHit } from './found-hits.ts'
import type { MergedHit } from './merged-hit.ts'
import type { MatchedPart } from '../run/query-result.ts'

/** Hits of a page that are made, or of a list that are looked at, in about a millisecond. */
const HITS_PER_STEP = 1000
const LOOKS_PER_STEP = 20_000

/** The part of the list that is the page: from the first hit up to, without it, the last one. */
export interface PageBounds {
  readonly from: number
  readonly to: number
}

/**
 * Where the page lies in the list. INVALID_ARGUMENT for a cursor of another query; UNAVAILABLE if other lists than
 * those of the cursor were merged, because an index did not answer.
 */
export function* boundsOf(
  hits: readonly MergedHit[],
  page: QueryPage,
  list: MergedListId,
): Sliced<PageBounds> {
  const { limit } = page
  if (page.kind !== 'merged') {
    const from = page.kind === 'offset' ? page.offset : 0
    return { from, to: from + limit }
  }
  const { direction, place } = page
  checkPlace(place, list, `search_${direction}`)
  const { at, isThere } = yield* placeOf(hits, place)
  if (direction === 'before') return { from: Math.max(0, at - limit), to: at }
  const from = isThere ? at + 1 : at
  return { from, to: from + limit }
}

function checkPlace(place: MergedPlace, list: MergedListId, where: string): void {
  if (place.query !== list.query) {
    refuse(where, 'this cursor belongs to another query; begin again without a cursor')
  }
  if (place.lists === list.lists) return
  throw new ServiceError(
    'UNAVAILABLE',
    `${where}: other indexes answered than for the page before, so that its hits have other places; try again, or ` +
      'begin again without a cursor',
  )
}

/** MP2. `at` is the number of hits before the place. */
function* placeOf(
  hits: readonly MergedHit[],
  { key, score }: MergedPlace,
): Sliced<{ readonly at: number; readonly isThere: boolean }> {
  const meter = new StepMeter(LOOKS_PER_STEP)
  let behind = hits.length
  for (const [at, hit] of hits.entries()) {
    if (meter.spend(1)) yield
    const order = Buffer.compare(hit.key, key)
    if (order === 0) return { at, isThere: true }
    const isBehind = hit.score < score || (hit.score === score && order > 0)
    if (isBehind) behind = Math.min(behind, at)
  }
  return { at: behind, isThere: false }
}

/** Who turns pages is told where they end, unless there is nothing behind. */
export function endWarnings(
  page: QueryPage,
  lists: readonly RankedList[],
  windowSize: number,
): readonly string[] {
  const isCut = lists.some(({ hits }) => hits.length >= windowSize)
  if (page.kind !== 'merged' || page.direction === 'before' || !isCut) return []
  return [
    `the pages end with the windows of ${windowSize} hits: a larger merge_config.window_size, from the first page on, ` +
      'reaches farther',
  ]
}

/** The hits of a page, each with its place. */
export function* pageHitsOf(
  hits: readonly MergedHit[],
  list: MergedListId,
): Sliced<readonly PageHit[]> {
  const meter = new StepMeter(HITS_PER_STEP)
  const page: PageHit[] = []
  for (const hit of hits) {
    if (meter.spend(1)) yield
    const { key, score, found } = hit
    page.push({
      key,
      score,
      cursor: encodeMergedCursor(list, hit),
      indexScores: indexScoresOf(hit),
      indexRanks: indexRanksOf(hit),
      matched: matchedOf(found),
    })
  }
  return page
}

/** The part that the index found which ranked the document best. */
function matchedOf(found: MergedHit['found']): MatchedPart | undefined {
  const parts = found.filter(({ hit }) => (hit.nearest?.end ?? 0) > 0)
  const [first, ...others] = parts
  if (first === undefined) return undefined
  const best = others.reduce((known, one) => (one.rank < known.rank ? one : known), first)
  const { row = 0, start = 0, end = 0 } = best.hit.nearest ?? {}
  return { index: best.list.name, chunk: row, start, end }
}
