// Documents that expire: from the moment of their expiry they are gone and never come back, also
// when the store dies before it has deleted them. Those that expire later must be there.

import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import { FOUR_SHARDS, pick, SHARD_PREFIXES } from './load.ts'
import type { ClientStep, IndexedTable, Load, LoadContext } from './load.ts'
import type { StoreClient } from '../servers/store-client.ts'

const TABLE = 'fleeting'
const TTL_MS = 3_600_000
const LIFE_MIN_MS = 20
const LIFE_MAX_MS = 600
/** The store's time follows the wall clock steadily, so it may be a little behind, more on a busy disk. */
const LAG_MAX_MS = 2000
/** Every so many documents one lives for an hour. */
const LASTING_EVERY = 10
/** Older ones are forgotten by the test. */
const REMEMBERED_MAX = 300

interface Mayfly {
  readonly key: string
  /** Undefined for one that outlives the test. */
  readonly expiresAtMs: number | undefined
  isAcknowledged: boolean
}

export class FleetingLoad implements Load {
  readonly tables: readonly IndexedTable[] = [{ table: TABLE, field: 'n', expires: true }]
  readonly clients: readonly ClientStep[]
  readonly #context: LoadContext
  readonly #written: Mayfly[] = []
  #count = 0

  constructor(context: LoadContext) {
    this.#context = context
    this.clients = [(store) => this.#write(store), (store) => this.#read(store)]
  }

  async prepare(store: StoreClient): Promise<void> {
    await store.createTable(TABLE, { ...FOUR_SHARDS, schema: { ttl_duration: `${TTL_MS}ms` } })
  }

  async check(store: StoreClient): Promise<void> {
    for (const mayfly of this.#written) await this.#checkOne(store, mayfly)
    const scannedAtMs = systemClock.nowMs()
    const keys = new Set((await store.scan(TABLE)).map(({ key }) => key))
    for (const { key, expiresAtMs, isAcknowledged } of this.#written) {
      const isExpired = expiresAtMs !== undefined && expiresAtMs <= scannedAtMs
      if (isExpired) expect(keys.has(key), `expired ${key} in a scan`).to.equal(false)
      if (expiresAtMs === undefined && isAcknowledged) {
        expect(keys.has(key), `lasting ${key} in a scan`).to.equal(true)
      }
    }
  }

  async #write(store: StoreClient): Promise<void> {
    const { random, tally } = this.#context
    this.#count += 1
    const lifeMs = LIFE_MIN_MS + Math.floor(random() * (LIFE_MAX_MS - LIFE_MIN_MS))
    const isLasting = this.#count % LASTING_EVERY === 0
    const expiresAtMs = systemClock.nowMs() + (isLasting ? TTL_MS : lifeMs)
    const key = `${pick(random, SHARD_PREFIXES)}/${this.#count}`
    const mayfly: Mayfly = {
      key,
      expiresAtMs: isLasting ? undefined : expiresAtMs,
      isAcknowledged: false,
    }
    this.#written.push(mayfly)
    if (this.#written.length > REMEMBERED_MAX) this.#written.shift()
    const born = new Date(expiresAtMs - TTL_MS).toISOString()
    await store.batch(TABLE, { inserts: { [key]: { _timestamp: born, n: this.#count } } })
    mayfly.isAcknowledged = true
    tally.add()
  }

  async #read(store: StoreClient): Promise<void> {
    const { random } = this.#context
    await this.#checkOne(
      store,
      this.#written.length === 0
        ? { key: 'a/none', expiresAtMs: 0, isAcknowledged: false }
        : pick(random, this.#written),
    )
  }

  async #checkOne(store: StoreClient, { key, expiresAtMs, isAcknowledged }: Mayfly): Promise<void> {
    const askedAtMs = systemClock.nowMs()
    const { document } = await store.lookup(TABLE, key)
    const isExpired = expiresAtMs !== undefined && expiresAtMs + LAG_MAX_MS <= askedAtMs
    if (isExpired) expect(document, `expired ${key}`).to.equal(undefined)
    if (expiresAtMs === undefined && isAcknowledged) {
      expect(document, `lasting ${key}`).to.not.equal(undefined)
    }
  }
}
