// Increments with an Idempotency-Key: whatever happened to the answer, the same request is sent again
// until it is acknowledged, and then it has taken effect exactly once. Each request increments two
// counters on different shards.

import { expect } from 'chai'
import { countTo, FOUR_SHARDS } from './load.ts'
import type { ClientStep, IndexedTable, Load, LoadContext } from './load.ts'
import type { StoreClient } from '../servers/store-client.ts'

const TABLE = 'counters'
const CLIENTS = 2
/** How often an acknowledged request is sent once more, as a client does whose answer was lost. */
const REPEAT_RATIO = 0.2

interface Counter {
  readonly keys: readonly [string, string]
  acknowledged: number
  /** The request whose end is unknown. */
  pending: number | undefined
  next: number
}

export class CounterLoad implements Load {
  readonly tables: readonly IndexedTable[] = [{ table: TABLE, field: 'n' }]
  readonly clients: readonly ClientStep[]
  readonly #context: LoadContext
  readonly #counters: readonly Counter[]

  constructor(context: LoadContext) {
    this.#context = context
    this.#counters = countTo(CLIENTS).map((index) => ({
      keys: [`a/${index}`, `u/${index}`],
      acknowledged: 0,
      pending: undefined,
      next: 1,
    }))
    this.clients = this.#counters.map((counter) => (store) => this.#step(store, counter))
  }

  async prepare(store: StoreClient): Promise<void> {
    await store.createTable(TABLE, FOUR_SHARDS)
  }

  /** Also finishes what is pending, so that the counts are exact. */
  async check(store: StoreClient): Promise<void> {
    for (const counter of this.#counters) {
      if (counter.pending !== undefined) await this.#increment(store, counter, counter.pending)
      for (const key of counter.keys) {
        const { document } = await this.#context.versions.watch(`${TABLE}/${key}`, () =>
          store.lookup(TABLE, key),
        )
        expect(document?.['n'] ?? 0, `counter ${key}`).to.equal(counter.acknowledged)
      }
    }
  }

  async #step(store: StoreClient, counter: Counter): Promise<void> {
    const request = counter.pending ?? counter.next
    await this.#increment(store, counter, request)
    if (this.#context.random() < REPEAT_RATIO) await send(store, counter, request)
  }

  async #increment(store: StoreClient, counter: Counter, request: number): Promise<void> {
    counter.pending = request
    await send(store, counter, request)
    counter.pending = undefined
    counter.acknowledged += 1
    counter.next = request + 1
    this.#context.tally.add()
  }
}

async function send(store: StoreClient, { keys }: Counter, request: number): Promise<void> {
  const operations = [{ op: '$inc', path: 'n', value: 1 }]
  const transforms = keys.map((key) => ({ key, operations, upsert: true }))
  await store.batch(TABLE, { transforms }, { 'idempotency-key': `${keys[0]}-${request}` })
}
