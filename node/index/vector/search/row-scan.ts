// Compares a query with every row of some documents. Vector instructions measure many rows at once, a little
// inexactly; those that may be among the nearest are measured again exactly.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { DistanceFrom } from '../kernels/distance.ts'
import type { FloatQuery, FloatRows } from '../kernels/float-rows.ts'
import type { DenseRows } from '../segment/document-rows.ts'
import type { NearestDocuments } from './nearest-documents.ts'
import type { RowReader } from './row-reader.ts'

/** What is compared, and where the nearest documents are gathered. */
export interface RowScanParts {
  readonly rows: DenseRows
  readonly reader: RowReader
  readonly floats: FloatRows
  readonly query: FloatQuery
  readonly distance: DistanceFrom
  readonly found: NearestDocuments
}

/** Numbers that are compared in some tenths of a millisecond. */
const NUMBERS_PER_STEP = 2 ** 20
/** What a row takes beside its numbers; one that may be read from a file takes some microseconds. */
const ROW_COSTS = { resident: 64, read: 4096 } as const

/** Consecutive rows. */
interface RowRun {
  readonly from: number
  readonly to: number
}

/** One search of the rows of one part. */
export class RowScan {
  readonly #with: RowScanParts
  /** The nearest row so far of the last document that had one near enough. */
  #nearest = { doc: -1, row: 0, distance: Infinity }

  constructor(parts: RowScanParts) {
    this.#with = parts
  }

  /** The documents ascend; each is searched once. */
  *search(docs: Uint32Array): Sliced<void> {
    const { floats, query, reader } = this.#with
    const meter = new StepMeter(NUMBERS_PER_STEP)
    floats.begin(query)
    for (const { from, to } of runsOf(this.#with.rows, docs)) {
      for (let row = from; row < to;) {
        row += this.#add(row, to)
        if (!floats.isFull) continue
        const measured = floats.count * (query.vector.length + this.#rowCost)
        this.#measure()
        if (!meter.spend(measured)) continue
        // Others use the same memories meanwhile.
        yield* reader.pause()
        floats.begin(query)
      }
    }
    this.#measure()
    this.#offer()
    yield* reader.pause()
  }

  get #rowCost(): number {
    return this.#with.rows.isResident ? ROW_COSTS.resident : ROW_COSTS.read
  }

  /** How many rows of a run, from this one on, were added. */
  #add(row: number, end: number): number {
    const { reader, floats } = this.#with
    const at = reader.seek(row, end)
    const first = floats.count
    const added = floats.add(reader.vectors, at, Math.min(end, reader.end) - row)
    for (let i = 0; i < added; i += 1) floats.rows[first + i] = row + i
    return added
  }

  #measure(): void {
    const { floats, distance, found } = this.#with
    if (floats.count === 0) return
    floats.measure()
    for (let place = 0; place < floats.count; place += 1) {
      if (floats.leastOf(place) > found.bar) continue
      this.#take(floats.rows[place] ?? 0, distance(floats.vectors, floats.startOf(place)))
    }
    floats.clear()
  }

  /** The rows of a document come one behind the other. */
  #take(row: number, distance: number): void {
    const doc = this.#with.rows.docOfRow(row)
    if (doc !== this.#nearest.doc) this.#offer()
    else if (distance >= this.#nearest.distance) return
    this.#nearest = { doc, row, distance }
  }

  #offer(): void {
    const { rows, found } = this.#with
    if (this.#nearest.doc >= 0) found.offer({ rows, ...this.#nearest })
    this.#nearest = { doc: -1, row: 0, distance: Infinity }
  }
}

/** The rows of documents that lie one behind the other, together. */
function* runsOf(rows: DenseRows, docs: Uint32Array): Generator<RowRun> {
  let from = 0
  let to = 0
  for (const doc of docs) {
    const first = rows.firstRowOf(doc)
    if (first !== to) {
      if (from < to) yield { from, to }
      from = first
    }
    to = rows.firstRowOf(doc + 1)
  }
  if (from < to) yield { from, to }
}
