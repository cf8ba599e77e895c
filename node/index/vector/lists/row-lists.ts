// The lists of a segment, as searches use them: which lists are near to a query, and how near their rows are, by
// small integers.

import { must } from '../../../../lib/assert.ts'
import { closedUnlessDone } from '../../../../lib/closing.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { FileSum } from '../../rows/file-sums.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { Quantizer } from '../graph/quantizer.ts'
import { MEASURED_MAX } from '../kernels/code-memory.ts'
import type { IntegerMetric } from '../kernels/simd-kernels.ts'
import { integerMetricOf, listCodesOf } from './list-form.ts'
import { ascending } from './list-order.ts'
import { LISTS_MAX, measureAll } from './list-centers.ts'
import { buildLists, type ListsPlan } from './lists-builder.ts'
import {
  ListsKeeper,
  openLists,
  ROWS_READ,
  type ListCodes,
  type ListsSource,
} from './lists-file.ts'

/** A query as small integers of the range of some lists. */
export interface IntegerQuery {
  readonly integers: Int8Array
  readonly metric: IntegerMetric
}

/** Rows that were measured, and their distances: good until the next call of any search. */
export interface MeasuredRows {
  readonly count: number
  readonly rows: Uint32Array
  readonly distances: Float32Array
}

/** Rows of a list, by their places in all lists: `from` up to `to`. */
export interface ListPart {
  readonly from: number
  readonly to: number
}

/** Which rows are measured. */
export interface RowTest {
  /** Writes the places of those rows of a part that pass into `places`, in their order, and answers how many. */
  gather(rows: Uint32Array, part: ListPart, places: Uint32Array): number
}

/** Closed with their segment. */
export class RowLists {
  readonly #file: ListCodes
  readonly #measured = new Uint32Array(MEASURED_MAX)
  /** Made for the first query. */
  #quantizer: Quantizer | undefined
  /** By row, its place in the lists; empty unless all codes are in memory. */
  #places: Uint32Array

  private constructor(file: ListCodes) {
    this.#file = file
    this.#places = new Uint32Array(0)
  }

  /** CORRUPTION if the file is missing or damaged. */
  static *open(source: ListsSource, expected: FileSum): Sliced<RowLists> {
    const file = yield* openLists(source, expected)
    const lists = new RowLists(file)
    yield* closedUnlessDone(lists.#findPlaces(), () => file.close())
    return lists
  }

  /** For a segment without files. The codes of its rows fit into one memory. */
  static *build(plan: ListsPlan): Sliced<RowLists> {
    const keeper = new ListsKeeper(plan.kernels)
    yield* buildLists(plan, (bytes) => keeper.write(bytes))
    const lists = new RowLists(keeper.finish())
    yield* lists.#findPlaces()
    return lists
  }

  get bytesInMemory(): number {
    const { codes, table } = this.#file
    return codes.codes.length + table.bytes.length + this.#places.byteLength
  }

  get bytesOnDisk(): number {
    return this.#file.bytesOnDisk
  }

  /** A query as these lists compare it: the settings are those of their index. */
  queryOf(settings: DenseIndexSettings, vector: Float32Array): IntegerQuery {
    const { range } = this.#file.table
    this.#quantizer ??= new Quantizer(settings, listCodesOf(settings.metric, range))
    // A copy: other searches come between the steps of one.
    const integers = this.#quantizer.queryIntegers(vector).slice()
    return { integers, metric: integerMetricOf(settings.metric) }
  }

  /** Whether `measureRows` can be called. */
  get isResident(): boolean {
    return this.#places.length > 0
  }

  /** All lists, that with the nearest center first. */
  *order({ integers, metric }: IntegerQuery): Generator<number> {
    const { codes, table } = this.#file
    const { listCount: rowCount } = table.sizes
    // Distances between integers are integers: one number is enough for both.
    const keys = new Float64Array(rowCount)
    for (const part of measureAll(codes, metric, { query: integers, rowCount })) {
      for (let i = 0; i < part.count; i += 1) {
        const list = part.from + i
        keys[list] = (part.distances[i] ?? 0) * LISTS_MAX + list
      }
    }
    for (const key of ascending(keys)) yield key - Math.floor(key / LISTS_MAX) * LISTS_MAX
  }

  /** The parts of a list that are measured in one call each, of at most ROWS_READ rows. */
  *partsOf(list: number): Generator<ListPart> {
    const { starts } = this.#file.table
    const end = must(starts[list + 1], 'a list')
    for (let from = starts[list] ?? 0; from < end; from += ROWS_READ) {
      yield { from, to: Math.min(end, from + ROWS_READ) }
    }
  }

  /** Measures the rows of a part that pass. */
  measurePart(query: IntegerQuery, { from, to }: ListPart, passing: RowTest): MeasuredRows {
    const { codes, table, isResident } = this.#file
    const { rows, sizes } = table
    // Codes that were read lie behind the centers.
    const first = sizes.listCount - (isResident ? 0 : from)
    const count = passing.gather(rows, { from, to }, this.#measured)
    for (let i = 0; i < count; i += 1) {
      const place = this.#measured[i] ?? 0
      codes.rows[i] = first + place
      this.#measured[i] = rows[place] ?? 0
    }
    if (count > 0 && !isResident) this.#file.read(from, to)
    return this.#measure(query, count)
  }

  /** Measures these rows, at most MEASURED_MAX of them. The codes are in memory. */
  measureRows(query: IntegerQuery, rows: Uint32Array): MeasuredRows {
    const { codes, table } = this.#file
    for (const [i, row] of rows.entries()) {
      this.#measured[i] = row
      codes.rows[i] = table.sizes.listCount + must(this.#places[row], 'a row')
    }
    return this.#measure(query, rows.length)
  }

  /** Reads the codes into memory if there is room for them now. They are not closed meanwhile. */
  *load(): Sliced<void> {
    if (this.isResident) return
    yield* this.#file.load()
    yield* this.#findPlaces()
  }

  close(): void {
    this.#file.close()
  }

  #measure({ integers, metric }: IntegerQuery, count: number): MeasuredRows {
    const { codes } = this.#file
    if (count > 0) codes.measure(integers, metric, count)
    return { count, rows: this.#measured, distances: codes.distances }
  }

  *#findPlaces(): Sliced<void> {
    if (!this.#file.isResident) return
    const { rows } = this.#file.table
    const places = new Uint32Array(rows.length)
    for (let place = 0; place < rows.length; place += 1) {
      places[rows[place] ?? 0] = place
      if (place % PLACES_PER_STEP === 0) yield
    }
    this.#places = places
  }
}

const PLACES_PER_STEP = 65_536
