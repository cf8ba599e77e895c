// Finds the nearest documents of an index. Each part of it is searched by its graph, or exactly.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { hasOrdinal } from '../../host/ordinal-set.ts'
import { hasDocument } from '../segment/deleted-documents.ts'
import type { VectorIndex, VectorSnapshot } from '../engine/vector-index.ts'
import type { PartView } from '../engine/vector-part.ts'
import { distanceFrom, type DistanceFrom } from '../kernels/distance.ts'
import { isExpired, type DocumentRows } from '../segment/document-rows.ts'
import type { SegmentGraph } from '../segment/vector-segment.ts'
import type { NearestRequest, PackedNearest } from '../vector-search.ts'
import { NearestDocuments } from './nearest-documents.ts'
import { packNearest } from './packed-nearest.ts'
import { firstCount, nextCount, rescoredCount, widthOf, type SearchCase } from './search-plan.ts'

/** Numbers that are read and compared in some tenths of a millisecond. */
const NUMBERS_PER_STEP = 2 ** 18
/** Documents that are looked at, a comparison apart, in as long. */
const LOOKS_PER_STEP = 16_384

/** The index as it is at the first step. The request has the shape that `isVectorRequest` checks. */
export function* runNearest(
  index: VectorIndex,
  settings: DenseIndexSettings,
  request: NearestRequest,
): Sliced<PackedNearest> {
  const snapshot = index.snapshot(request.filter)
  try {
    const search = new NearestSearch(settings, request, snapshot)
    for (const part of snapshot.parts) yield* search.searchPart(part)
    const total = snapshot.liveCount - (yield* expiredCount(snapshot, request))
    return yield* packNearest(yield* search.found.drain(), total)
  } finally {
    snapshot.release()
  }
}

class NearestSearch {
  readonly found: NearestDocuments
  readonly #request: NearestRequest
  readonly #settings: DenseIndexSettings
  readonly #distance: DistanceFrom
  readonly #rescored: number
  readonly #passing: number

  constructor(settings: DenseIndexSettings, request: NearestRequest, snapshot: VectorSnapshot) {
    this.#request = request
    this.#settings = settings
    this.#distance = distanceFrom(settings.metric, request.vector)
    this.#rescored = rescoredCount(settings.quantization, request.limit)
    this.found = new NearestDocuments(request.limit, request)
    const all = snapshot.parts.reduce((sum, { liveCount }) => sum + liveCount, 0)
    this.#passing = all === 0 ? 0 : snapshot.liveCount / all
  }

  *searchPart(part: PartView): Sliced<void> {
    const graph = part.segment?.graph
    const isFound = graph !== undefined && (yield* this.#searchGraph(part, graph))
    if (!isFound) yield* this.#scan(part)
  }

  /** False if comparing with all that may be hits takes less time. */
  *#searchGraph(part: PartView, { graph, quantizer }: SegmentGraph): Sliced<boolean> {
    const searched = this.#caseOf(part)
    let count = firstCount(searched)
    for (; count !== undefined; count = nextCount(count, searched)) {
      // In one step: the quantizer is shared.
      const { rows } = graph.search(quantizer.encode(this.#request.vector, 0), count)
      yield
      const candidates = this.#passingRows(part, rows)
      const isAll = rows.length < count || count >= searched.rowCount
      if (yield* this.#rescore(part, candidates, isAll)) return true
      yield
    }
    return false
  }

  #caseOf({ rows, docCount, liveCount }: PartView): SearchCase {
    return {
      rowCount: rows.rowCount,
      passing: (this.#passing * liveCount) / docCount,
      rowsPerDocument: rows.rowCount / docCount,
      rescored: this.#rescored,
      width: widthOf(this.#request.effort),
    }
  }

  /** By document, its rows; the documents in the order of their nearest row by the graph. */
  #passingRows(part: PartView, rows: Uint32Array): ReadonlyMap<number, readonly number[]> {
    const found = new Map<number, number[]>()
    for (const row of rows) {
      const doc = part.rows.docOfRow(row)
      const known = found.get(doc)
      if (known !== undefined) known.push(row)
      else if (this.#passes(part, doc)) found.set(doc, [row])
    }
    return found
  }

  /** False if too few are hits: nothing is found then. */
  *#rescore(
    part: PartView,
    candidates: ReadonlyMap<number, readonly number[]>,
    isAll: boolean,
  ): Sliced<boolean> {
    const { found } = this
    const meter = this.#meter()
    const best: { doc: number; row: number; distance: number }[] = []
    let within = 0
    let isBeyond = isAll
    for (const [doc, rows] of candidates) {
      if (within >= this.#rescored) break
      const nearest = this.#nearestOf(part.rows, rows)
      best.push({ doc, ...nearest })
      if (found.isWithin(nearest.distance)) within += 1
      if (found.isBeyond(nearest.distance)) isBeyond = true
      if (meter.spend(rows.length * this.#settings.dimension)) yield
    }
    if (within < found.limit && !isBeyond) return false
    for (const one of best) found.offer({ rows: part.rows, ...one })
    return true
  }

  #nearestOf(from: DocumentRows, rows: readonly number[]) {
    let nearest = { row: 0, distance: Infinity }
    for (const row of rows) {
      const { vectors, at } = from.block(row, 1)
      const distance = this.#distance(vectors, at)
      if (distance < nearest.distance) nearest = { row, distance }
    }
    return nearest
  }

  /** Compares with each row of the documents that may be hits. */
  *#scan(part: PartView): Sliced<void> {
    const { dimension } = this.#settings
    const meter = this.#meter()
    const looks = new StepMeter(LOOKS_PER_STEP)
    const isDense = this.#caseOf(part).passing >= DENSE
    const reader = new RowReader(part.rows, { dimension, isDense })
    for (const doc of this.#passingDocuments(part)) {
      if (doc < 0) {
        if (looks.spend(1)) yield* reader.pause()
        continue
      }
      let nearest = { row: 0, distance: Infinity }
      const end = part.rows.firstRowOf(doc + 1)
      for (let row = part.rows.firstRowOf(doc); row < end; row += 1) {
        const at = reader.seek(row, end)
        const distance = this.#distance(reader.vectors, at)
        if (distance < nearest.distance) nearest = { row, distance }
        if (meter.spend(dimension)) yield* reader.pause()
      }
      this.found.offer({ rows: part.rows, doc, ...nearest })
    }
  }

  /** Ascending; -1 for each that was looked at and does not pass. */
  *#passingDocuments(part: PartView): Generator<number> {
    const { filter } = this.#request
    if (filter?.kind === 'list' && filter.ordinals.length < part.docCount / 16) {
      const isDeleted = (doc: number): boolean => hasDocument(part.deleted, doc)
      const docs = Array.from(filter.ordinals, (ordinal) => {
        return part.rows.docOfOrdinal(ordinal, isDeleted)
      })
      for (const doc of docs.toSorted((a, b) => a - b)) {
        yield doc >= 0 && doc < part.docCount && this.#passes(part, doc) ? doc : -1
      }
      return
    }
    for (let doc = 0; doc < part.docCount; doc += 1) yield this.#passes(part, doc) ? doc : -1
  }

  #passes({ rows, deleted }: PartView, doc: number): boolean {
    const { filter, nowMs } = this.#request
    if (hasDocument(deleted, doc) || isExpired(rows, doc, nowMs)) return false
    return filter === undefined || hasOrdinal(filter, rows.ordinalOf(doc))
  }

  #meter(): StepMeter {
    return new StepMeter(NUMBERS_PER_STEP)
  }
}

/** From this share of passing documents on, reading all costs less than reading each. */
const DENSE = 0.2

/** Reads rows in ascending order, several at once. */
class RowReader {
  vectors: Float32Array = new Float32Array(0)
  readonly #rows: DocumentRows
  readonly #dimension: number
  readonly #isDense: boolean
  #at = 0
  #from = 0
  #end = 0

  constructor(
    rows: DocumentRows,
    { dimension, isDense }: { readonly dimension: number; readonly isDense: boolean },
  ) {
    this.#rows = rows
    this.#dimension = dimension
    this.#isDense = isDense
  }

  /** Where the row begins in `vectors`. The rows up to `end` are wanted next. */
  seek(row: number, end: number): number {
    if (row >= this.#end || row < this.#from) {
      const count = (this.#isDense ? this.#rows.rowCount : end) - row
      const { vectors, at, rowCount } = this.#rows.block(row, count)
      this.vectors = vectors
      this.#at = at
      this.#from = row
      this.#end = row + rowCount
    }
    return this.#at + (row - this.#from) * this.#dimension
  }

  /** Others may read into the same memory meanwhile. */
  *pause(): Sliced<void> {
    this.#end = 0
    yield
  }
}

/** Documents stay until they are deleted, some time after they have expired. */
function* expiredCount(
  { parts }: VectorSnapshot,
  { filter, nowMs }: NearestRequest,
): Sliced<number> {
  const meter = new StepMeter(LOOKS_PER_STEP)
  let count = 0
  for (const { rows, docCount, deleted } of parts) {
    if (!(rows.firstExpiryMs <= nowMs)) continue
    for (let doc = 0; doc < docCount; doc += 1) {
      if (meter.spend(1)) yield
      if (!isExpired(rows, doc, nowMs) || hasDocument(deleted, doc)) continue
      if (filter === undefined || hasOrdinal(filter, rows.ordinalOf(doc))) count += 1
    }
  }
  return count
}
