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
import { RowReader } from './row-reader.ts'
import { NearestDocuments } from './nearest-documents.ts'
import { packNearest } from './packed-nearest.ts'
import {
  firstCount,
  neededCount,
  nextCount,
  rescoredCount,
  widthOf,
  type SearchCase,
} from './search-plan.ts'

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

interface Scan {
  readonly reader: RowReader
  readonly meter: StepMeter
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
      const isEnough = isAll || candidates.size >= searched.needed
      if (isEnough && (yield* this.#rescore(part, candidates, isAll))) return true
      yield
    }
    return false
  }

  #caseOf({ rows, docCount, liveCount }: PartView): SearchCase {
    const { limit, effort } = this.#request
    const passing = (this.#passing * liveCount) / docCount
    return {
      rowCount: rows.rowCount,
      passing,
      rowsPerDocument: rows.rowCount / docCount,
      needed: neededCount(this.#rescored, { limit, passing }),
      width: widthOf(effort),
      isResident: rows.isResident,
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
    const isDense = this.#caseOf(part).passing >= DENSE
    const reader = new RowReader(part.rows, { dimension: this.#settings.dimension, isDense })
    const meter = this.#meter()
    for (const docs of this.#passingDocuments(part)) {
      yield* reader.pause()
      yield* this.#scanDocuments(part.rows, docs, { reader, meter })
    }
  }

  *#scanDocuments(rows: DocumentRows, docs: Uint32Array, { reader, meter }: Scan): Sliced<void> {
    const { dimension } = this.#settings
    for (const doc of docs) {
      let nearest = { row: 0, distance: Infinity }
      const end = rows.firstRowOf(doc + 1)
      for (let row = rows.firstRowOf(doc); row < end; row += 1) {
        const at = reader.seek(row, end)
        const distance = this.#distance(reader.vectors, at)
        if (distance < nearest.distance) nearest = { row, distance }
        if (meter.spend(dimension)) yield* reader.pause()
      }
      this.found.offer({ rows, doc, ...nearest })
    }
  }

  /** Ascending, as many as are found in a step. */
  *#passingDocuments(part: PartView): Generator<Uint32Array> {
    const { filter } = this.#request
    if (filter?.kind === 'list' && filter.ordinals.length < part.docCount / 16) {
      yield this.#listedDocuments(part, filter.ordinals)
      return
    }
    for (let from = 0; from < part.docCount; from += LOOKS_PER_STEP) {
      const end = Math.min(from + LOOKS_PER_STEP, part.docCount)
      const found = new Uint32Array(end - from)
      let count = 0
      for (let doc = from; doc < end; doc += 1) {
        if (!this.#passes(part, doc)) continue
        found[count] = doc
        count += 1
      }
      yield found.subarray(0, count)
    }
  }

  /** A list is short: all of it is looked up in one step. */
  #listedDocuments(part: PartView, ordinals: Uint32Array): Uint32Array {
    const isDeleted = (doc: number): boolean => hasDocument(part.deleted, doc)
    const found: number[] = []
    for (const ordinal of ordinals) {
      const doc = part.rows.docOfOrdinal(ordinal, isDeleted)
      if (doc >= 0 && doc < part.docCount && this.#passes(part, doc)) found.push(doc)
    }
    return Uint32Array.from(found).toSorted()
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
