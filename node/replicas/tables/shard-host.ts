import type { AdmitWrite } from '../../storage/disk-guard.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { HybridClock } from '../../clock/hybrid-clock.ts'
import { LocalShard } from '../../shard/local-shard.ts'
import type { Shard } from '../../shard/shard.ts'
import type { ShardRouter } from '../../shard/shard-router.ts'
import { ShardIndexes, type IndexParts } from '../../shard/following/shard-indexes.ts'
import type { TableSettings } from '../../shard/command/table-settings.ts'
import { Permits } from '../../../lib/permits.ts'
import type { ShardId } from '../../shard/shard-id.ts'
import type { JointReading } from '../../journal/joint-reading.ts'
import type { Journal } from '../../journal/journal.ts'
import type { KvStoreFactory } from '../../storage/kv-store.ts'
import { FailedShard } from './failed-shard.ts'
import type { LedShard } from '../../shard/led-shard.ts'
import { rangeContains } from '../../shard/command/key-range.ts'
import type { OpenTable } from '../../catalog/tables/open-table.ts'
import type { TableShards } from '../../catalog/tables/table-shards.ts'
import type { LedShards } from '../../catalog/tables/led-shards.ts'
import type { ShardRecord } from '../../catalog/records/shard-record.ts'

/** What every shard of the node shares. The host closes shards, and none of these parts. */
export interface ShardHostOptions {
  readonly stores: KvStoreFactory
  readonly journal: Journal
  /** Throws DISK_FULL when the disk has no room for the write. */
  readonly admit?: AdmitWrite | undefined
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

/** LevelDB opens a store on a thread of the pool, which has a few of them, and syncs files meanwhile. */
const STORES_OPENED_AT_ONCE = 8

/** What the shards of a start have in common. */
interface Starting {
  /** Those that are on the disk. */
  readonly stores: ReadonlySet<string>
  readonly reading: JointReading
  readonly openings: Permits
  /** True once for each shard of the start. */
  readonly isExpected: (id: ShardId) => boolean
}

/** Opens, closes and removes the shards that live in this process. */
export class ShardHost implements TableShards {
  readonly #with: ShardHostOptions
  #starting: Starting | undefined

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
      const stores = this.#starting?.stores ?? new Set(await this.#with.stores.list())
      if (!stores.has(record.id)) {
        throw new ServiceError('CORRUPTION', `its store "${record.id}" is missing on disk`)
      }
      return await this.#open(record, settings)
    } catch (error) {
      this.#starting?.reading.leave(record.id)
      const fields = { table: settings.tableName, shardId: record.id, error: String(error) }
      this.#with.log.error('shard failed to open', fields)
      const reason = error instanceof ServiceError ? error.message : 'see the log'
      return new FailedShard(record.id, record.range, reason)
    }
  }

  async #open({ id, range }: ShardRecord, settings: TableSettings): Promise<Shard> {
    const starting = this.#starting
    const open = () => this.#with.stores.open(id)
    const store = starting === undefined ? await open() : await starting.openings.run(open)
    const { journal, admit, hybridClock, clock, router, indexes } = this.#with
    const parts = { store, journal, admit, hybridClock, clock, router, settings, indexes }
    const reading = starting?.isExpected(id) === true ? starting.reading : undefined
    try {
      const shard = await LocalShard.open({ id, range, reading, ...parts })
      this.#with.led.add(shard.led)
      return shard
    } catch (error) {
      await store.close()
      throw error
    }
  }

  async startTogether(ids: readonly ShardId[]): Promise<Disposable> {
    const { stores, journal } = this.#with
    const kept = new Set(await stores.list())
    const expected = new Set(ids)
    this.#starting = {
      stores: kept,
      reading: journal.readTogether(new Set(ids)),
      openings: new Permits(STORES_OPENED_AT_ONCE),
      isExpected: (id) => expected.delete(id),
    }
    return {
      [Symbol.dispose]: () => {
        this.#starting = undefined
      },
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
