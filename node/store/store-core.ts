// The first phase of a store: what exists before anybody knows where its shards are.

import type { AdmitWrite, DiskRoom } from '../storage/disk-guard.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Lifecycle } from '../../lib/lifecycle.ts'
import type { Log } from '../../lib/log.ts'
import type { MetricSource } from '../../lib/metrics.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import type { Coordination } from '../coordination/coordination.ts'
import { IndexWorkerPool } from '../index/host/index-worker-pool.ts'
import { WorkerMetrics } from '../index/host/worker-metrics.ts'
import { INDEX_KINDS, INDEX_WORKER } from '../index/kinds/index-kinds.ts'
import type { Journal } from '../journal/journal.ts'
import type { MediaSurroundings } from '../media/open-media.ts'
import type { ProviderSurroundings } from '../providers/access/provider-access.ts'
import type { KvStoreFactory } from '../storage/kv-store.ts'
import type { IndexParts } from '../shard/following/shard-indexes.ts'
import type { ShardRouter } from '../shard/shard-router.ts'
import { IndexEvents } from '../shard/following/index-events.ts'
import { Catalog } from '../catalog/records/catalog.ts'
import { FieldCatalog } from '../catalog/records/field-catalog.ts'
import { LedShards } from '../catalog/tables/led-shards.ts'
import type { ProcessParts } from '../catalog/admin/table-admin.ts'
import { TableRegistry } from '../catalog/tables/table-registry.ts'
import { TableRoutes } from '../catalog/tables/table-routes.ts'
import { TransactionFinisher } from '../transactions/transaction-finisher.ts'
import { TransactionRecovery } from '../transactions/transaction-recovery.ts'

/** What a store is built from. The caller owns these parts and closes them after the store. */
export interface StoreParts {
  readonly coordination: Coordination
  readonly stores: KvStoreFactory
  /** The log of all shards. It must stay open until every shard is closed. */
  readonly journal: Journal
  /** Throws DISK_FULL when the disk has no room for the write. Absent: every write is admitted. */
  readonly admit?: AdmitWrite
  /** The file system of the data directory. Absent: the list of nodes says nothing of it. */
  readonly disk?: () => DiskRoom | undefined
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly log: Log
  readonly version: string
  /** The revision of the program's sources. Absent if nobody knows it. */
  readonly gitCommit?: string | undefined
  /** The id of the data directory. */
  readonly nodeId: string
  /** 64 random bits as 16 hexadecimal digits. */
  readonly randomBits: () => string
  readonly process?: ProcessParts | undefined
  /** What models elsewhere are asked with. Absent: none are asked. */
  readonly providers?: ProviderSurroundings
  /** What media of documents and queries are read with. Absent: what is public. */
  readonly media?: MediaSurroundings
  /** Absent: the node keeps no indexes, and searches are refused. */
  readonly indexes?: {
    /** The directory that holds the indexes of all shards. */
    readonly indexRoot: string
    readonly memoryBytesMax?: number
    readonly hangMs?: number
    /** Worker threads. Default: as many as the machine has room for. */
    readonly threads?: number
  }
}

/** What the shards of a store are made with, and what ends transactions in them. */
export interface StoreCore {
  readonly registry: TableRegistry
  readonly fields: FieldCatalog
  readonly catalog: Catalog
  readonly router: ShardRouter
  readonly led: LedShards
  readonly finisher: TransactionFinisher
  readonly recovery: TransactionRecovery
  /** Undefined: the node keeps no indexes. */
  readonly indexes: IndexParts | undefined
  readonly indexMetrics: readonly MetricSource[]
}

/** Opens no table yet. `life` closes the workers of indexes. */
export function openStoreCore(parts: StoreParts, life: Lifecycle): StoreCore {
  const { hybridClock, clock, log, coordination } = parts
  const registry = new TableRegistry()
  const fields = new FieldCatalog(coordination, log)
  const catalog = new Catalog(coordination, fields)
  const router = new TableRoutes({ registry, catalog })
  const finisher = new TransactionFinisher({ router, clock, log })
  const led = new LedShards()
  const recovery = new TransactionRecovery({
    router,
    finisher,
    hybridClock,
    log,
    shards: () => led.all(),
    isOnlyProcess: coordination.scope === 'process',
  })
  const opened = openIndexes(parts, fields, life)
  const known = { registry, fields, catalog, router, led, finisher, recovery }
  return { ...known, indexes: opened?.parts, indexMetrics: opened?.metrics ?? [] }
}

interface OpenedIndexes {
  readonly parts: IndexParts
  readonly metrics: readonly MetricSource[]
}

/** Registered before the tables are, so that the workers outlive the indexes in them. */
function openIndexes(
  { indexes, clock, log }: StoreParts,
  fields: FieldCatalog,
  life: Lifecycle,
): OpenedIndexes | undefined {
  if (indexes === undefined) return undefined
  const { indexRoot: root, ...workers } = indexes
  const kinds = { kinds: INDEX_KINDS, entry: INDEX_WORKER }
  const pool = new IndexWorkerPool({ clock, log, ...kinds, ...workers })
  life.onClose(() => pool.close())
  const metrics = new WorkerMetrics({ clock, pool })
  const parts = { pool, root, fields, log, events: new IndexEvents() }
  return { parts, metrics: [() => metrics.lines()] }
}
