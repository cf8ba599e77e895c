// Divides housekeeping into small commands, so that it does not delay reads and writes.
//
// Invariants:
//   HK1  No command of housekeeping costs more than about PIECE_BYTES_MAX or PIECE_KEYS_MAX, or one item
//        when that alone is larger; others have their turn between two of them.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { KvStore } from '../../storage/kv-store.ts'

export const PIECE_KEYS_MAX = 1000
export const PIECE_BYTES_MAX = 1024 * 1024
/** What an item costs beside its bytes. */
const ITEM_BYTES = 64
/** What the store reads in about a millisecond, and what a reading costs beside its bytes. */
const READ_BYTES_PER_STEP = 512 * 1024
const READING_BYTES = 8192

/** Reads records one by one, and gives others a turn after each millisecond of it. */
export class PacedReader {
  readonly #store: KvStore
  readonly #meter = new StepMeter(READ_BYTES_PER_STEP)

  constructor(store: KvStore) {
    this.#store = store
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    const value = this.#store.get(key)
    if (this.#meter.spend(READING_BYTES + (value?.length ?? 0))) await nextTurn()
    return value
  }
}

/** Runs a computation with a turn for others after each of its steps. */
export async function inTurns<Result>(work: Sliced<Result>): Promise<Result> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await nextTurn()
  }
}

/** Gathers items, and hands them on as soon as they are worth a command. */
export class Pieces<Item> {
  readonly #propose: (items: readonly Item[]) => Promise<void>
  #items: Item[] = []
  #bytes = 0

  constructor(propose: (items: readonly Item[]) => Promise<void>) {
    this.#propose = propose
  }

  async add(item: Item, bytes: number): Promise<void> {
    this.#items.push(item)
    this.#bytes += ITEM_BYTES + bytes
    if (this.#items.length >= PIECE_KEYS_MAX || this.#bytes >= PIECE_BYTES_MAX) await this.flush()
  }

  async flush(): Promise<void> {
    const items = this.#items
    this.#items = []
    this.#bytes = 0
    if (items.length > 0) await this.#propose(items)
  }
}
