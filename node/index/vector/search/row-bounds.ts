// Measures many rows at once, a little inexactly: the bound that is told of a row is never above its distance. Those that may be
// hits are then measured exactly, one by one.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { CoarseRows } from '../kernels/coarse-rows.ts'
import type { DistanceFrom } from '../kernels/distance.ts'
import type { FloatRows } from '../kernels/float-rows.ts'
import type { RowBatch, RowQuery } from '../kernels/row-batch.ts'
import type { CoarseVectors } from '../segment/coarse-vectors.ts'
import type { DenseRows } from '../segment/dense-rows.ts'
import type { RowReader } from './row-reader.ts'

/** What a row costs beside its numbers, in numbers; one that may be read from a file takes some microseconds. */
const ROW_COSTS = { resident: 64, read: 4096 } as const

/** The rows of one part, which are added to a batch. After each `pause`, `begin` comes first. */
export interface RowBounds {
  readonly batch: RowBatch
  begin(): void
  /** How many rows from `row` on, up to `end`, were added. */
  add(row: number, end: number): number
  /** The distance of the row at a place of the batch: never below what the batch says. */
  exactOf(place: number): number
  /** What was done since the last call, in numbers that are compared in 32 bits. */
  takeCost(): number
  /** Others use the same memories meanwhile. */
  pause(): Sliced<void>
}

/** What is compared. */
interface Compared {
  readonly rows: DenseRows
  readonly query: RowQuery
  readonly distance: DistanceFrom
}

abstract class Bounds<Batch extends RowBatch> {
  readonly batch: Batch
  readonly compared: Compared
  #cost = 0

  constructor(batch: Batch, compared: Compared) {
    this.batch = batch
    this.compared = compared
  }

  begin(): void {
    this.batch.begin(this.compared.query)
  }

  takeCost(): number {
    const cost = this.#cost
    this.#cost = 0
    return cost
  }

  protected spend(rows: number, numbersEach: number): void {
    this.#cost += rows * numbersEach
  }

  /** Says which rows were added last. */
  protected name(row: number, added: number): void {
    const { rows, count } = this.batch
    const first = count - added
    for (let i = 0; i < added; i += 1) rows[first + i] = row + i
  }

  protected get dimension(): number {
    return this.compared.query.vector.length
  }

  protected get rowCost(): number {
    return this.compared.rows.isResident ? ROW_COSTS.resident : ROW_COSTS.read
  }
}

/** By the rows themselves, in 32 bits. */
export class FloatBounds extends Bounds<FloatRows> implements RowBounds {
  readonly #reader: RowReader

  constructor(batch: FloatRows, reader: RowReader, compared: Compared) {
    super(batch, compared)
    this.#reader = reader
  }

  add(row: number, end: number): number {
    const at = this.#reader.seek(row, end)
    const added = this.batch.add(this.#reader.vectors, at, Math.min(end, this.#reader.end) - row)
    this.name(row, added)
    this.spend(added, this.dimension + this.rowCost)
    return added
  }

  exactOf(place: number): number {
    this.spend(1, this.dimension)
    return this.compared.distance(this.batch.vectors, this.batch.startOf(place))
  }

  pause(): Sliced<void> {
    return this.#reader.pause()
  }
}

/** A number that is encoded takes as long as eight in 32 bits; four that are measured by codes take as long as one. */
const ENCODED_COST = 8
const CODE_COST = 1 / 4

/** By their codes: rows are read to be encoded, once, and where they may be hits. */
export class CoarseBounds extends Bounds<CoarseRows> implements RowBounds {
  readonly #vectors: CoarseVectors

  constructor(batch: CoarseRows, vectors: CoarseVectors, compared: Compared) {
    super(batch, compared)
    this.#vectors = vectors
  }

  add(row: number, end: number): number {
    const block = this.#vectors.block(row, end - row)
    const added = this.batch.add(block)
    this.name(row, added)
    this.spend(added, this.dimension * CODE_COST + ROW_COSTS.resident)
    this.spend(block.encoded, this.dimension * ENCODED_COST + this.rowCost)
    return added
  }

  exactOf(place: number): number {
    this.spend(1, this.dimension + this.rowCost)
    const { vectors, at } = this.compared.rows.block(this.batch.rows[place] ?? 0, 1)
    return this.compared.distance(vectors, at)
  }

  *pause(): Sliced<void> {
    yield
  }
}
