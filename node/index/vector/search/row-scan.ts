// Compares a query with every row of some documents. Many rows are measured at once, a little inexactly; those
// that may be among the nearest are measured again exactly.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { DenseRows } from '../segment/document-rows.ts'
import type { NearestDocuments } from './nearest-documents.ts'
import type { RowBounds } from './row-bounds.ts'

/** What is compared, and where the nearest documents are gathered. */
export interface RowScanParts {
  readonly rows: DenseRows
  readonly bounds: RowBounds
  readonly found: NearestDocuments
}

/** Numbers that are compared in some tenths of a millisecond. */
const NUMBERS_PER_STEP = 2 ** 20

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
    const { bounds } = this.#with
    const meter = new StepMeter(NUMBERS_PER_STEP)
    bounds.begin()
    for (const { from, to } of runsOf(this.#with.rows, docs)) {
      for (let row = from; row < to;) {
        row += bounds.add(row, to)
        if (!bounds.isFull) continue
        this.#measure()
        if (!meter.spend(bounds.takeCost())) continue
        yield* bounds.pause()
        bounds.begin()
      }
    }
    this.#measure()
    this.#offer()
    yield* bounds.pause()
  }

  #measure(): void {
    const { bounds, found } = this.#with
    if (bounds.count === 0) return
    bounds.measure()
    for (let place = 0; place < bounds.count; place += 1) {
      if (bounds.leastOf(place) > found.bar) continue
      this.#take(bounds.rows[place] ?? 0, bounds.exactOf(place))
    }
    bounds.clear()
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
