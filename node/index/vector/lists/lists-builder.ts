// Sorts the rows of a segment into lists: each row into that of the nearest of some centers. Everything is compared
// as small integers, as searches do.
//
//   sample ─► range of the integers ─► centers ─┐
//   all rows ───────────────────────────────────┴─► lists ─► table, codes of centers, codes list by list

import type { Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { Quantizer, RangeFinder, type QuantizerRange } from '../graph/quantizer.ts'
import { listCodesOf, listFormOf } from './list-form.ts'
import { strideOf, type Kernels } from '../kernels/code-memory.ts'
import { ListCenters, LISTS_MAX, sampled } from './list-centers.ts'
import { newListsTable, type ListsTable } from './lists-table.ts'

/** Rows from which the range of the integers is learnt. */
const RANGE_ROWS = 4096
/** Centers are kept until there are twice as many rows as they were chosen for. */
const GROWTH_MAX = 2

/** The vectors of a segment. A row is good until the next one. */
export interface RowSource {
  readonly rowCount: number
  row(row: number): { readonly vectors: Float32Array; readonly at: number }
}

/** The lists of the first rows of a segment, by the same numbers. */
export interface FormerLists {
  readonly table: ListsTable
  /** The codes of its centers. */
  readonly centers: Uint8Array
}

/** What lists are made of. */
export interface ListsPlan {
  readonly settings: DenseIndexSettings
  readonly source: RowSource
  readonly former: FormerLists | undefined
  readonly kernels: Kernels
}

/** Takes bytes in their order; they may change after it. */
export type WriteBytes = (bytes: Uint8Array) => Sliced<void>

/** Writes the file of the lists of a segment that has rows: the table, the codes of the centers, and of the rows. */
export function* buildLists(plan: ListsPlan, write: WriteBytes): Sliced<void> {
  const { settings, source, kernels } = plan
  const { dimension } = settings
  const { rowCount } = source
  const kept = keptOf(plan)
  const range = kept?.table.range ?? (yield* findRange(plan))
  const rowOf = encoderOf(plan, range)
  const count = kept?.table.sizes.listCount ?? listCountOf(rowCount)
  const centers = new ListCenters(kernels, { dimension, count })
  if (kept === undefined) yield* centers.choose(rowCount, rowOf)
  else centers.codes.set(kept.centers)
  const lists = yield* assign({ kept, rowCount }, (row) => centers.nearestTo(rowOf(row)))
  const trainedCount = kept?.table.sizes.trainedCount ?? rowCount
  const table = newListsTable({ dimension, rowCount, listCount: count, trainedCount }, range)
  sortRows(table, lists)
  yield
  yield* write(table.bytes)
  yield* write(centers.codes)
  const bytes = new Uint8Array(strideOf(dimension))
  for (const row of table.rows) {
    bytes.set(rowOf(row))
    yield* write(bytes)
    yield
  }
}

/** A search looks at all centers, and at some lists. More lists have less in them that is not near. */
function listCountOf(rowCount: number): number {
  return Math.min(rowCount, LISTS_MAX, Math.round(2 * Math.sqrt(rowCount)))
}

function keptOf({ former, source }: ListsPlan): FormerLists | undefined {
  if (former === undefined) return undefined
  return source.rowCount <= former.table.sizes.trainedCount * GROWTH_MAX ? former : undefined
}

function* findRange({ settings, source }: ListsPlan): Sliced<QuantizerRange> {
  const finder = new RangeFinder(settings)
  for (const row of sampled(source.rowCount, RANGE_ROWS)) {
    const { vectors, at } = source.row(row)
    finder.add(vectors, at)
    yield
  }
  return finder.codes(listFormOf(settings.metric))
}

/** Whatever the graph's numbers are: small integers are compared fastest. */
function encoderOf({ settings, source }: ListsPlan, range: QuantizerRange) {
  const quantizer = new Quantizer(settings, listCodesOf(settings.metric, range))
  return (row: number): Int8Array => {
    const { vectors, at } = source.row(row)
    return quantizer.integersOf(vectors, at)
  }
}

interface Assigning {
  readonly kept: FormerLists | undefined
  readonly rowCount: number
}

/** By row, its list. Rows stay in the lists that are kept. */
function* assign(
  { kept, rowCount }: Assigning,
  listOf: (row: number) => number,
): Sliced<Uint32Array> {
  const lists = new Uint32Array(rowCount)
  if (kept !== undefined) yield* markFormer(kept, lists)
  for (let row = kept?.table.sizes.rowCount ?? 0; row < rowCount; row += 1) {
    lists[row] = listOf(row)
    yield
  }
  return lists
}

function* markFormer({ table }: FormerLists, lists: Uint32Array): Sliced<void> {
  const { starts, rows, sizes } = table
  for (let list = 0; list < sizes.listCount; list += 1) {
    for (const row of rows.subarray(starts[list], starts[list + 1])) lists[row] = list
    yield
  }
}

function sortRows({ starts, rows }: ListsTable, lists: Uint32Array): void {
  for (const list of lists) starts[list + 1] = (starts[list + 1] ?? 0) + 1
  for (let list = 1; list < starts.length; list += 1) {
    starts[list] = (starts[list] ?? 0) + (starts[list - 1] ?? 0)
  }
  const ends = starts.slice()
  for (const [row, list] of lists.entries()) {
    const at = ends[list] ?? 0
    ends[list] = at + 1
    rows[at] = row
  }
}
