import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, messageOf, ServiceError } from '../../../lib/errors.ts'
import type { Coordination } from '../../coordination/coordination.ts'
import type { TableSettings } from '../../shard/command/table-settings.ts'
import type { Shard } from '../../shard/shard.ts'
import type { OpenTable } from '../../catalog/tables/open-table.ts'
import { NotServed, type TableShards } from '../../catalog/tables/table-shards.ts'
import type { ShardRecord } from '../../catalog/records/shard-record.ts'
import { endedKey, endedPrefix } from './ended-shards.ts'
import type { ReplicaHost } from '../replica-host.ts'
import type { TableNews } from './table-news.ts'

/** From the creation of a table to leaders of all its shards. */
const SERVE_MS = 30_000
/** From a drop to the end of all transactions on the table. */
const END_MS = 30_000
const POLL_MS = 200

/** What the shards of a cluster's tables are reached by. */
export interface ClusterShardsOptions {
  readonly coordination: Coordination
  readonly clock: Clock
  readonly host: ReplicaHost
  /** The shard as this node calls it, wherever it is led. */
  readonly shardOf: (record: ShardRecord) => Shard
  /** Gives the replicas on this node the settings of a changed table. */
  readonly applyHere: (table: OpenTable) => Promise<void>
  readonly news: Pick<TableNews, 'tell'>
}

/**
 * The shards of a cluster's tables. Replicas come and go with the catalog and the controller's placement, on
 * all nodes; this waits for them.
 */
export class ClusterShards implements TableShards {
  readonly #with: ClusterShardsOptions

  constructor(options: ClusterShardsOptions) {
    this.#with = options
  }

  async create(record: ShardRecord, _settings: TableSettings): Promise<Shard> {
    const { clock, shardOf } = this.#with
    const shard = shardOf(record)
    const untilMs = clock.monotonicMs() + SERVE_MS
    for (;;) {
      try {
        await shard.stats()
        return shard
      } catch (error) {
        if (!isServiceError(error) || clock.monotonicMs() >= untilMs) {
          throw new NotServed(messageOf(error))
        }
        await clock.sleep(POLL_MS)
      }
    }
  }

  /** Replicas are opened by the node's replica host, as the control plane names them. */
  async startTogether(): Promise<Disposable> {
    return { [Symbol.dispose]: () => undefined }
  }

  async open(record: ShardRecord): Promise<Shard> {
    return this.#with.shardOf(record)
  }

  apply(table: OpenTable): Promise<void> {
    return this.#with.applyHere(table)
  }

  announce(name: string): Promise<void> {
    return this.#with.news.tell(name)
  }

  /** A shard without a leader keeps `end` waiting, so nothing is lost by a drop. */
  assertDroppable(): void {}

  /** The leaders of the shards see the table's state, end what is open, and say so. */
  async end({ record, shards }: OpenTable): Promise<void> {
    const { coordination, clock } = this.#with
    const untilMs = clock.monotonicMs() + END_MS
    for (;;) {
      const { entries } = await coordination.list(endedPrefix(record.tableId))
      const ended = new Set(entries.map(({ key }) => key))
      const left = shards.filter(({ id }) => !ended.has(endedKey(record.tableId, id)))
      if (left.length === 0) return
      if (clock.monotonicMs() >= untilMs) throw notEnded(record.name, left.length)
      await clock.sleep(POLL_MS)
    }
  }

  /** The replicas go when their nodes see that the catalog has the table no more. */
  async destroy(): Promise<void> {}

  async close(): Promise<void> {}

  async closeAll(): Promise<void> {
    await this.#with.host.close()
  }
}

function notEnded(table: string, count: number): ServiceError {
  return new ServiceError(
    'UNAVAILABLE',
    `${count} shards of table "${table}" have not ended their transactions in time; the drop continues, ` +
      'see the cluster status',
  )
}
