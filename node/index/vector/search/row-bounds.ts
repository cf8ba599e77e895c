// Measures many rows at once, a little inexactly: each is at least as far from a query as is told of it. Those that may be
// hits are then measured exactly, one by one.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { CoarseRows } from '../kernels/coarse-rows.ts'
import type { DistanceFrom } from '../kernels/distance.ts'
import type { FloatQuery, FloatRows } from '../kernels/float-rows.ts'
import type { CoarseVectors } from '../segment/coarse-vectors.ts'
import type { DenseRows } from '../segment/document-rows.ts'
import type { RowReader } from './row-reader.ts'

/** What a row costs beside its numbers, in numbers; one that may be read from a file takes some microseconds. */
const ROW_COSTS = { resident: 64, read: 4096 } as const

/**
 * Rows that are measured together. Contract:
 * - `begin` comes first, and after each `pause`; then `add` until `isFull`, `measure`, and what is known of the
 *   `count` rows; `clear` makes room for more.
 * - `leastOf` is at most `exactOf`, or NaN. Both take the place of a row among those that were added.
 */
export interface RowBounds {
  readonly isFull: boolean
  readonly count: number
  /** Their numbers. */
  readonly rows: Uint32Array
  begin(): void
  /** How many rows from `row` on, up to `end`, were added. */
  add(row: number, end: number): number
  measure(): void
  leastOf(place: number): number
  exactOf(place: number): number
  clear(): void
  /** What was done since the last call, in numbers that are compared in 32 bits. */
  takeCost(): number
  /** Others use the same memories meanwhile. */
  pause(): Sliced<void>
}

/** What is compared. */
interface Compared {
  readonly rows: DenseRows
  readonly query: FloatQuery
  readonly distance: DistanceFrom
}

/** By the rows themselves, in 32 bits. */
export class FloatBounds implements RowBounds {
  readonly #with: Compared & { readonly reader: RowReader; readonly floats: FloatRows }
  #cost = 0

  constructor(parts: Compared & { readonly reader: RowReader; readonly floats: FloatRows }) {
    this.#with = parts
  }

  get isFull(): boolean {
    return this.#with.floats.isFull
  }

  get count(): number {
    return this.#with.floats.count
  }

  get rows(): Uint32Array {
    return this.#with.floats.rows
  }

  begin(): void {
    this.#with.floats.begin(this.#with.query)
  }

  add(row: number, end: number): number {
    const { reader, floats, rows, query } = this.#with
    const at = reader.seek(row, end)
    const added = floats.add(reader.vectors, at, Math.min(end, reader.end) - row)
    numberRows(floats, row, added)
    const rowCost = rows.isResident ? ROW_COSTS.resident : ROW_COSTS.read
    this.#cost += added * (query.vector.length + rowCost)
    return added
  }

  measure(): void {
    this.#with.floats.measure()
  }

  leastOf(place: number): number {
    return this.#with.floats.leastOf(place)
  }

  exactOf(place: number): number {
    const { distance, floats, query } = this.#with
    this.#cost += query.vector.length
    return distance(floats.vectors, floats.startOf(place))
  }

  clear(): void {
    this.#with.floats.clear()
  }

  takeCost(): number {
    const cost = this.#cost
    this.#cost = 0
    return cost
  }

  pause(): Sliced<void> {
    return this.#with.reader.pause()
  }
}

/** Numbers that are encoded, and those that are measured by codes, take as long as so many in 32 bits. */
const ENCODED_COST = 8
const CODE_COST = 1 / 4

/** By their codes: rows are read to be encoded, once, and where they may be hits. */
export class CoarseBounds implements RowBounds {
  readonly #with: Compared & { readonly vectors: CoarseVectors; readonly coarse: CoarseRows }
  #cost = 0

  constructor(parts: Compared & { readonly vectors: CoarseVectors; readonly coarse: CoarseRows }) {
    this.#with = parts
  }

  get isFull(): boolean {
    return this.#with.coarse.isFull
  }

  get count(): number {
    return this.#with.coarse.count
  }

  get rows(): Uint32Array {
    return this.#with.coarse.rows
  }

  begin(): void {
    this.#with.coarse.begin(this.#with.query)
  }

  add(row: number, end: number): number {
    const { vectors, coarse, query } = this.#with
    const block = vectors.block(row, end - row)
    const added = coarse.add(block)
    numberRows(coarse, row, added)
    const { length } = query.vector
    this.#cost += added * (length * CODE_COST + ROW_COSTS.resident)
    this.#cost += block.encoded * (length * ENCODED_COST + this.#readCost)
    return added
  }

  measure(): void {
    this.#with.coarse.measure()
  }

  leastOf(place: number): number {
    return this.#with.coarse.leastOf(place)
  }

  exactOf(place: number): number {
    const { distance, rows, coarse, query } = this.#with
    this.#cost += query.vector.length + this.#readCost
    const { vectors, at } = rows.block(coarse.rows[place] ?? 0, 1)
    return distance(vectors, at)
  }

  clear(): void {
    this.#with.coarse.clear()
  }

  takeCost(): number {
    const cost = this.#cost
    this.#cost = 0
    return cost
  }

  *pause(): Sliced<void> {
    yield
  }

  get #readCost(): number {
    return this.#with.rows.isResident ? ROW_COSTS.resident : ROW_COSTS.read
  }
}

/** The rows that were added last. */
function numberRows(
  { rows, count }: Pick<RowBounds, 'rows' | 'count'>,
  row: number,
  added: number,
): void {
  for (let i = 0; i < added; i += 1) rows[count - added + i] = row + i
}
