// Finds rows in the lists of a segment. Only rows that pass are measured, so a filter makes no search longer; the
// lists are looked at from the nearest on, until some in a row had nothing nearer.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { MEASURED_MAX } from '../kernels/code-memory.ts'
import type { IntegerQuery, MeasuredRows, RowLists, RowTest } from './row-lists.ts'
import { NearestRows } from './nearest-rows.ts'

/** What is looked for. */
export interface ListCase {
  readonly query: IntegerQuery
  /** How many rows are wanted, to be compared exactly. */
  readonly rescored: number
  /** How many of them become hits. */
  readonly limit: number
  /** After as many rows and lists without a nearer hit, the search ends. */
  readonly patience: Patience
}

/** When a search of lists gives up. */
export interface Patience {
  readonly rows: number
  readonly lists: number
}

/** The nearest rows first. */
export interface FoundRows {
  readonly rows: Uint32Array
  /** Whether they are all that pass. */
  readonly isAll: boolean
}

/** Rows that are looked at or measured, in about half a millisecond. */
const ROWS_PER_STEP = 8192

/** Searches all rows that pass. */
export function* searchLists(
  lists: RowLists,
  asked: ListCase,
  passing: RowTest,
): Sliced<FoundRows> {
  const search = new ListSearch(asked)
  const meter = new StepMeter(ROWS_PER_STEP)
  for (const list of lists.order(asked.query)) {
    for (const part of lists.partsOf(list)) {
      search.take(lists.measurePart(asked.query, part, passing))
      if (meter.spend(part.to - part.from)) yield
    }
    if (search.isOver()) return { rows: search.found.sorted(), isAll: false }
  }
  return { rows: search.found.sorted(), isAll: !search.found.isFull }
}

/** Searches rows that are known to pass. The codes are in memory. */
export function* searchRows(
  lists: RowLists,
  asked: ListCase,
  rows: Uint32Array,
): Sliced<FoundRows> {
  const search = new ListSearch(asked)
  for (let from = 0; from < rows.length; from += MEASURED_MAX) {
    search.take(lists.measureRows(asked.query, rows.subarray(from, from + MEASURED_MAX)))
    yield
  }
  return { rows: search.found.sorted(), isAll: !search.found.isFull }
}

class ListSearch {
  readonly found: NearestRows
  readonly #hits: NearestRows
  readonly #patience: Patience
  #rowsInVain = 0
  #listsInVain = 0
  #isNearer = false
  #measured = 0

  constructor({ rescored, limit, patience }: ListCase) {
    this.found = new NearestRows(Math.max(rescored, limit))
    this.#hits = new NearestRows(limit)
    this.#patience = patience
  }

  take({ count, rows, distances }: MeasuredRows): void {
    for (let i = 0; i < count; i += 1) {
      const distance = distances[i] ?? 0
      const row = rows[i] ?? 0
      if (this.found.offer(row, distance) && this.#hits.offer(row, distance)) this.#isNearer = true
    }
    this.#measured += count
  }

  /** After each list. One without rows that pass tells nothing. */
  isOver(): boolean {
    const measured = this.#measured
    this.#measured = 0
    if (measured === 0) return false
    this.#rowsInVain = this.#isNearer ? 0 : this.#rowsInVain + measured
    this.#listsInVain = this.#isNearer ? 0 : this.#listsInVain + 1
    this.#isNearer = false
    const { rows, lists } = this.#patience
    return this.found.isFull && this.#rowsInVain >= rows && this.#listsInVain >= lists
  }
}
