import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import { LocalShard } from '../shard/local-shard.ts'
import type { Shard } from '../shard/shard.ts'
import type { ShardRouter } from '../shard/shard-router.ts'
import { ShardIndexes, type IndexParts } from '../shard/following/shard-indexes.ts'
import type { TableSettings } from '../shard/command/table-settings.ts'
import type { Journal } from '../journal/journal.ts'
import type { KvStoreFactory } from '../storage/kv-store.ts'
import { FailedShard } from './shards/failed-shard.ts'
import type { LedShard } from '../shard/led-shard.ts'
import { rangeContains } from '../shard/command/key-range.ts'
import type { OpenTable } from './tables/open-table.ts'
import type { TableShards } from './tables/table-shards.ts'
import type { LedShards } from './shards/led-shards.ts'
import type { ShardRecord } from './shards/shard-record.ts'

/** What every shard of the node shares. The host closes shards, and none of these parts. */
export interface ShardHostOptions {
  readonly stores: KvStoreFactory
  readonly journal: Journal
  /** Throws DISK_FULL when the disk has no room for so many bytes. */
  readonly admit?: ((bytes: number) => void) | undefined
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly router: ShardRouter
  readonly log: Log
  /** Undefined: the shards have no indexes. */
  readonly indexes: IndexParts | undefined
  /** The host adds each shard that it opens, and removes it at its close. */
  readonly led: LedShards
  /**
   * Ends every transaction whose record lies on a sealed shard. Throws UNAVAILABLE when one cannot end,
   * because another shard that must learn its outcome does not answer.
   */
  readonly drain: (shard: LedShard) => Promise<void>
}

/** Opens, closes and removes the shards that live in this process. */
export class ShardHost implements TableShards {
  readonly #with: ShardHostOptions

  constructor(options: ShardHostOptions) {
    this.#with = options
  }

  /** Fails when a store cannot be made; for tables that do not exist yet. */
  create(record: ShardRecord, settings: TableSettings): Promise<Shard> {
    return this.#open(record, settings)
  }

  /** Never fails: a damaged or missing store becomes a shard that refuses and says why. */
  async open(record: ShardRecord, settings: TableSettings): Promise<Shard> {
    try {
      const stores = await this.#with.stores.list()
      if (!stores.includes(record.id)) {
        throw new ServiceError('CORRUPTION', `its store "${record.id}" is missing on disk`)
      }
      return await this.#open(record, settings)
    } catch (error) {
      const fields = { table: settings.tableName, shardId: record.id, error: String(error) }
      this.#with.log.error('shard failed to open', fields)
      const reason = error instanceof ServiceError ? error.message : 'see the log'
      return new FailedShard(record.id, record.range, reason)
    }
  }

  async #open({ id, range }: ShardRecord, settings: TableSettings): Promise<Shard> {
    const store = await this.#with.stores.open(id)
    const { journal, admit, hybridClock, clock, router, indexes } = this.#with
    const parts = { store, journal, admit, hybridClock, clock, router, settings, indexes }
    try {
      const shard = await LocalShard.open({ id, range, ...parts })
      this.#with.led.add(shard.led)
      return shard
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** This process is the only node. */
  async announce(): Promise<void> {}

  async apply(table: OpenTable): Promise<void> {
    const led = this.#with.led.among(table.shards)
    await Promise.all(led.map((shard) => shard.setSettings(table)))
  }

  async end(table: OpenTable): Promise<void> {
    const { led, drain } = this.#with
    const shards = led.among(table.shards)
    await Promise.all(shards.map((shard) => shard.seal()))
    for (const shard of shards) await drain(shard)
    this.assertDroppable(table)
  }

  /** What a failed shard holds nobody else can add to, so looking once is enough. */
  assertDroppable({ record, shards }: OpenTable): void {
    const { led } = this.#with
    const failed = shards.filter((shard) => led.find(shard) === undefined)
    if (failed.length === 0) return
    for (const shard of led.all()) {
      const waits = shard.holders().some(({ anchor }) => {
        return anchor.tableId === record.tableId && failed.some((one) => owns(one, anchor.key))
      })
      if (!waits || shard.tableId === record.tableId) continue
      throw new ServiceError(
        'UNAVAILABLE',
        `a failed shard of table "${record.name}" keeps the outcome of transactions that another ` +
          'table waits for; see the cluster status, and restore the shard before you drop the table',
      )
    }
  }

  async destroy(shard: Shard): Promise<void> {
    const { indexes, led } = this.#with
    const open = led.find(shard)
    led.remove(shard.id)
    if (open === undefined) this.#with.journal.unregister(shard.id, 'drop')
    else await open.close('drop')
    if (indexes !== undefined) await ShardIndexes.remove(indexes, shard.id)
    await this.#with.stores.destroy(shard.id)
  }

  async close(shard: Shard): Promise<void> {
    const open = this.#with.led.find(shard)
    this.#with.led.remove(shard.id)
    await open?.close()
  }

  async closeAll(): Promise<void> {
    for (const { shard } of this.#with.led.all()) await this.close(shard)
  }
}

function owns({ range }: Shard, key: Buffer): boolean {
  return rangeContains(range, key)
}
