// Finds the nearest documents of an index. Each part of it is searched by its graph, by its lists, or exactly.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import type { DenseIndex } from '../engine/dense-index.ts'
import type { RowsSnapshot } from '../../rows/rows-index.ts'
import { distanceFrom, type DistanceFrom } from '../kernels/distance.ts'
import type { Kernels } from '../kernels/code-memory.ts'
import type { DenseRows } from '../segment/dense-rows.ts'
import { patienceOf, rescoredCount, widthOf } from '../graph/effort.ts'
import type { RowLists } from '../lists/row-lists.ts'
import { searchLists, searchRows, type ListCase } from '../lists/search-lists.ts'
import type { SegmentGraph } from '../segment/vector-segment.ts'
import type { NearestRequest, PackedNearest } from '../vector-search.ts'
import { NearestDocuments } from './nearest-documents.ts'
import { packNearest } from './packed-nearest.ts'
import { expiredCount } from './passing-documents.ts'
import { PassingRows, type DensePart, type FoundDocuments } from './passing-rows.ts'
import { CoarseBounds, FloatBounds, type RowBounds } from './row-bounds.ts'
import { RowReader } from './row-reader.ts'
import { RowScan } from './row-scan.ts'
import {
  exactRows,
  firstCount,
  neededCount,
  nextCount,
  ROWS_COUNTED_MAX,
  type SearchCase,
} from './search-plan.ts'

/** Numbers that are read and compared in some tenths of a millisecond. */
const NUMBERS_PER_STEP = 2 ** 18

/** The index as it is at the first step. The request has the shape that `isVectorRequest` checks. */
export function* runNearest(
  index: DenseIndex,
  by: SearchedBy,
  request: NearestRequest,
): Sliced<PackedNearest> {
  const snapshot = index.snapshot(request.filter)
  try {
    const search = new NearestSearch(by, request, snapshot)
    // What is found in the largest part tells soon that a small one has nothing nearer.
    for (const part of snapshot.parts.toSorted(byRows)) {
      yield* search.searchPart({ part, passing: new PassingRows(part, request) })
    }
    const total = snapshot.liveCount - (yield* expiredCount(snapshot, request))
    return yield* packNearest(yield* search.found.drain(), total)
  } finally {
    snapshot.release()
  }
}

/** What all searches of an index share. */
export interface SearchedBy {
  readonly settings: DenseIndexSettings
  readonly kernels: Kernels
}

/** A part, and which of its documents may be hits. */
interface SearchedPart {
  readonly part: DensePart
  readonly passing: PassingRows
}

/** Documents to be compared exactly, and their rows. */
interface Candidates {
  readonly documents: FoundDocuments
  /** Whether no other row can be a hit. */
  readonly isAll: boolean
  /** How many within the bounds are enough. */
  readonly rescored: number
}

class NearestSearch {
  readonly found: NearestDocuments
  readonly #request: NearestRequest
  readonly #settings: DenseIndexSettings
  readonly #kernels: Kernels
  readonly #distance: DistanceFrom
  readonly #passing: number

  constructor({ settings, kernels }: SearchedBy, request: NearestRequest, snapshot: RowsSnapshot) {
    this.#request = request
    this.#settings = settings
    this.#kernels = kernels
    this.#distance = distanceFrom(settings.metric, request.vector)
    this.found = new NearestDocuments(request.limit, request)
    const all = snapshot.parts.reduce((sum, { liveCount }) => sum + liveCount, 0)
    this.#passing = all === 0 ? 0 : snapshot.liveCount / all
  }

  *searchPart(searched: SearchedPart): Sliced<void> {
    const { graph, lists } = searched.part.segment ?? {}
    if (graph !== undefined && (yield* this.#searchGraph(searched, graph))) return
    if (lists !== undefined && (yield* this.#searchLists(searched, lists))) return
    yield* this.#scan(searched)
  }

  /** False if another way takes less time. */
  *#searchGraph(
    { part, passing }: SearchedPart,
    { graph, numbers, quantizer }: SegmentGraph,
  ): Sliced<boolean> {
    const rescored = rescoredCount(numbers, this.#request)
    const searched = this.#caseOf(part, rescored)
    let count = firstCount(searched)
    for (; count !== undefined; count = nextCount(count, searched)) {
      // In one step: the quantizer is shared.
      const { rows } = graph.search(quantizer.encodeQuery(this.#request.vector), count)
      yield
      const documents = passing.byDocument(rows)
      const isAll = rows.length < count || count >= searched.rowCount
      const isEnough = isAll || documents.docs.length >= searched.needed
      if (isEnough && (yield* this.#rescore(part, { documents, isAll, rescored }))) return true
      yield
    }
    return false
  }

  /** False if too few are hits, or comparing with all that pass takes less time. */
  *#searchLists({ part, passing }: SearchedPart, lists: RowLists): Sliced<boolean> {
    const rescored = rescoredCount('i8', this.#request)
    const searched = this.#caseOf(part, rescored)
    if (searched.rowCount * searched.passing < exactRows(lists.isResident)) return false
    const asked = this.#askedOfLists(lists, searched, rescored)
    const listed = lists.isResident ? yield* passing.listedRows() : undefined
    const { rows, isAll } =
      listed === undefined
        ? yield* searchLists(lists, asked, passing)
        : yield* searchRows(lists, asked, listed)
    yield
    return yield* this.#rescore(part, { documents: passing.byDocument(rows), isAll, rescored })
  }

  #askedOfLists(lists: RowLists, searched: SearchCase, rescored: number): ListCase {
    const { limit, effort, vector } = this.#request
    const rows = Math.min(searched.rowsPerDocument, ROWS_COUNTED_MAX)
    return {
      query: lists.queryOf(this.#settings, vector),
      rescored: Math.ceil(rescored * rows),
      limit: Math.ceil(limit * rows),
      patience: patienceOf(effort, searched),
    }
  }

  #caseOf({ rows, docCount, liveCount, segment }: DensePart, rescored: number): SearchCase {
    const { limit, effort } = this.#request
    const passing = (this.#passing * liveCount) / docCount
    return {
      rowCount: rows.rowCount,
      passing,
      rowsPerDocument: rows.rowCount / docCount,
      needed: neededCount(rescored, { limit, passing }),
      width: widthOf(effort),
      isResident: rows.isResident,
      selected: this.#passing,
      lists: placeOf(segment?.lists),
    }
  }

  /** False if too few are hits: nothing is found then. */
  *#rescore(part: DensePart, { documents, isAll, rescored }: Candidates): Sliced<boolean> {
    const { found } = this
    const meter = this.#meter()
    const best: { doc: number; row: number; distance: number }[] = []
    const here = new NearestDocuments(found.limit, this.#request)
    const patience = Math.ceil(rescored / IN_VAIN_PARTS)
    let within = 0
    let inVain = 0
    let isBeyond = isAll
    for (const doc of documents.docs) {
      if (within >= rescored || inVain >= patience) break
      const rows = documents.rowsOf(doc)
      const nearest = this.#nearestOf(part.rows, rows)
      best.push({ doc, ...nearest })
      here.offer({ rows: part.rows, doc, ...nearest })
      inVain = nearest.distance > Math.min(found.bar, here.bar) ? inVain + 1 : 0
      if (found.isWithin(nearest.distance)) within += 1
      if (found.isBeyond(nearest.distance)) isBeyond = true
      if (meter.spend(rows.length * this.#settings.dimension)) yield
    }
    if (within < found.limit && inVain < patience && !isBeyond) return false
    for (const one of best) found.offer({ rows: part.rows, ...one })
    return true
  }

  #nearestOf(from: DenseRows, rows: readonly number[]) {
    let nearest = { row: 0, distance: Infinity }
    for (const row of rows) {
      const { vectors, at } = from.block(row, 1)
      const distance = this.#distance(vectors, at)
      if (distance < nearest.distance) nearest = { row, distance }
    }
    return nearest
  }

  /** Compares with each row of the documents that may be hits. */
  *#scan({ part, passing }: SearchedPart): Sliced<void> {
    const { rows } = part
    const scan = new RowScan({ rows, bounds: this.#boundsOf(part), found: this.found })
    for (const docs of passing.runs()) yield* scan.search(docs)
  }

  #boundsOf({ rows, liveCount, docCount }: DensePart): RowBounds {
    const { dimension, metric } = this.#settings
    const query = { metric, vector: this.#request.vector }
    const compared = { rows, query, distance: this.#distance }
    const isDense = this.#passing * liveCount >= DENSE * docCount
    // Codes are made of many rows at once.
    const vectors = isDense ? rows.coarse : undefined
    if (vectors !== undefined) return new CoarseBounds(this.#kernels.coarse, vectors, compared)
    const reader = new RowReader(rows, { dimension, isDense })
    return new FloatBounds(this.#kernels.floats, reader, compared)
  }

  #meter(): StepMeter {
    return new StepMeter(NUMBERS_PER_STEP)
  }
}

function placeOf(lists: RowLists | undefined): SearchCase['lists'] {
  if (lists === undefined) return 'none'
  return lists.isResident ? 'resident' : 'read'
}

/** The most rows first. */
function byRows(a: DensePart, b: DensePart): number {
  return b.rows.rowCount - a.rows.rowCount
}

/**
 * Candidates come about by their distance: when so large a part of them in a row is farther away than what was found,
 * none of the rest is a hit.
 */
const IN_VAIN_PARTS = 4

/** From this share of passing documents on, reading all costs less than reading each. */
const DENSE = 0.2
