// A walk through the whole table that builds an index. Later writes reach the index by the log.

import type { DocumentChange } from '../../index/host/document-batch.ts'
import type { Clock } from '../../../lib/clock.ts'
import { readLastKey, readNextDocuments } from './document-changes.ts'
import type { IndexSource } from './index-source.ts'
import type { SavedBackfill } from './saved-backfill.ts'

/** What to walk, and the log entry from which the log takes over. */
export interface BackfillOptions {
  readonly source: IndexSource
  readonly clock: Clock
  /** The walk sees every write up to this log entry, because it begins after them. */
  readonly walkedTo: number
  /** Why the index is built again, if it was there before. */
  readonly reason: string | undefined
}

/** Where a walk stands. */
export type WalkedSpan = Pick<SavedBackfill, 'cursor' | 'last' | 'processed'>

/** Reads the documents of a table in the order of their keys, page by page. */
export class Backfill {
  readonly walkedTo: number
  readonly reason: string | undefined
  readonly #source: IndexSource
  readonly #clock: Clock
  #cursor: Buffer | undefined
  /** The table's greatest key when the walk began: keys behind it come by the log. */
  #last: Buffer | undefined
  #processed = 0
  #hasBegun = false

  constructor({ source, clock, walkedTo, reason }: BackfillOptions) {
    this.#source = source
    this.#clock = clock
    this.walkedTo = walkedTo
    this.reason = reason
  }

  /** A walk that was interrupted: `begin` is not called. */
  static resume(
    options: Pick<BackfillOptions, 'source' | 'clock'>,
    saved: SavedBackfill,
  ): Backfill {
    const { walkedTo, reason } = saved
    const backfill = new Backfill({ ...options, walkedTo, reason })
    backfill.#cursor = saved.cursor
    backfill.#last = saved.last
    backfill.#processed = saved.processed
    backfill.#hasBegun = true
    return backfill
  }

  /** Undefined before the first page. */
  get walked(): WalkedSpan | undefined {
    const [cursor, last] = [this.#cursor, this.#last]
    if (cursor === undefined || last === undefined) return undefined
    return { cursor, last, processed: this.#processed }
  }

  /**
   * The caller calls it when the store has the entries up to `walkedTo`, so that no earlier key is
   * left out.
   */
  async begin(): Promise<void> {
    this.#last = await readLastKey(this.#source)
    this.#hasBegun = true
  }

  /** The documents that the walk may still bring to the index, if the table has at most `documentsMax`. */
  left(documentsMax: number): number {
    if (!this.#hasBegun) return documentsMax
    return this.hasDocuments ? Math.max(1, documentsMax - this.#processed) : 0
  }

  /** False for an empty table, and before the walk has begun. */
  get hasDocuments(): boolean {
    return this.#last !== undefined
  }

  /** The number of documents that the index has taken. */
  get processed(): number {
    return this.#processed
  }

  /** The next page of documents, taken by `take`; false at the end of the table. */
  async step(take: (changes: readonly DocumentChange[]) => Promise<void>): Promise<boolean> {
    const last = this.#last
    const span = last && { after: this.#cursor, last }
    const found = span && (await readNextDocuments(this.#source, span, this.#clock))
    if (found === undefined) return false
    await take(found.changes)
    this.#processed += found.changes.filter(({ json }) => json !== undefined).length
    this.#cursor = found.last
    return true
  }

  /** From 0 to 1, by bytes of what is walked, without the most recently written ones. */
  async progress(): Promise<number> {
    if (this.#cursor === undefined) return 0
    const source = this.#source
    const { gte, lt } = source.range
    const walked = { gte, lt: source.placeOf(this.#cursor) }
    const total = await source.store.approximateBytes({ gte, lt })
    return total === 0 ? 0 : Math.min(1, (await source.store.approximateBytes(walked)) / total)
  }
}
