// Compares a query with every row of some documents. Many rows are measured at once, a little inexactly; those
// that may be among the nearest are measured again exactly.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { DenseRows } from '../segment/dense-rows.ts'
import type { DocumentRun } from './passing-documents.ts'
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

/** One search of the rows of one part. */
export class RowScan {
  readonly #with: RowScanParts
  /** The nearest row so far of the last document that had one near enough. */
  #nearest = { doc: -1, row: 0, distance: Infinity }

  constructor(parts: RowScanParts) {
    this.#with = parts
  }

  /** The documents ascend; each is searched once. */
  *search(docs: Iterable<DocumentRun>): Sliced<void> {
    const { bounds, rows } = this.#with
    const { batch } = bounds
    const meter = new StepMeter(NUMBERS_PER_STEP)
    bounds.begin()
    for (const { from, to } of docs) {
      const end = rows.firstRowOf(to)
      for (let row = rows.firstRowOf(from); row < end;) {
        row += bounds.add(row, end)
        if (!batch.isFull) continue
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
    const { batch } = bounds
    if (batch.count === 0) return
    const near = batch.measure(found.bar)
    for (let i = 0; i < near; i += 1) {
      const place = batch.near[i] ?? 0
      // The bar comes down meanwhile.
      if (batch.leastOf(place) > found.bar) continue
      this.#take(batch.rows[place] ?? 0, bounds.exactOf(place))
    }
    batch.clear()
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
