import type { AdmitWrite, DiskRoom } from '../storage/disk-guard.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Lifecycle } from '../../lib/lifecycle.ts'
import type { Log } from '../../lib/log.ts'
import { DocumentClock } from '../clock/document-clock.ts'
import type { MetricSource } from '../../lib/metrics.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import type { Coordination } from '../coordination/coordination.ts'
import { IndexWorkerPool } from '../index/host/index-worker-pool.ts'
import { WorkerMetrics } from '../index/host/worker-metrics.ts'
import { INDEX_KINDS, INDEX_WORKER } from '../index/kinds/index-kinds.ts'
import type { Journal } from '../journal/journal.ts'
import type { Enrichers } from '../enrichment/enrichers.ts'
import type { MediaSurroundings } from '../media/open-media.ts'
import type { ProviderSurroundings } from '../providers/access/provider-access.ts'
import type { KvStoreFactory } from '../storage/kv-store.ts'
import type { LedShard } from '../shard/led-shard.ts'
import type { IndexParts } from '../shard/following/shard-indexes.ts'
import type { ShardRouter } from '../shard/shard-router.ts'
import { IndexEvents } from '../shard/following/index-events.ts'
import type { ClusterService } from '../steering/cluster-service.ts'
import { Catalog } from '../catalog/records/catalog.ts'
import { FieldCatalog } from '../catalog/records/field-catalog.ts'
import { Idempotency } from '../transactions/idempotency.ts'
import { NodeHousekeeper } from './node-housekeeper.ts'
import { enrichmentMetrics } from '../steering/metrics/enrichment-metrics.ts'
import { openEnrichers } from './open-enrichers.ts'
import { openModels } from './open-models.ts'
import { LedShards } from '../catalog/tables/led-shards.ts'
import { ReadPins } from '../reads/read-pins.ts'
import { storeMetrics, type StoreMetricsOptions } from '../steering/metrics/store-metrics.ts'
import { NearTables, type FindNear } from '../search/tables/near-tables.ts'
import type { FindReplicas } from '../reads/replica-choice.ts'
import { StaleReads } from '../reads/stale-reads.ts'
import { SwarmStore } from './swarm-store.ts'
import { SealedKeys } from '../catalog/admin/sealed-keys.ts'
import { TableAdmin, type ProcessParts } from '../catalog/admin/table-admin.ts'
import { TableMetrics } from '../steering/metrics/table-metrics.ts'
import { TableRegistry } from '../catalog/tables/table-registry.ts'
import type { ReplicationRules } from '../catalog/admin/table-replication.ts'
import type { TableShards } from '../catalog/tables/table-shards.ts'
import { TableRoutes } from '../catalog/tables/table-routes.ts'
import { EnrichedWriter } from '../transactions/writes/enriched-writer.ts'
import { TransactionFinisher } from '../transactions/transaction-finisher.ts'
import { TransactionRecovery } from '../transactions/transaction-recovery.ts'
import { TransactionRunner } from '../transactions/transaction-runner.ts'

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

/**
 * The store with its tables open. It serves reads and writes, but is not ready before
 * `finishStart`.
 */
export interface OpenedStore {
  readonly store: SwarmStore
  readonly cluster: ClusterService
  readonly housekeeper: NodeHousekeeper
  readonly admin: TableAdmin
  /** The tables that this node serves, under their names. */
  readonly registry: TableRegistry
  /** The led shards of all tables, internal tables included. */
  readonly shards: () => readonly LedShard[]
  /** Ends the transactions and table changes that were left open, then sets ready. */
  readonly finishStart: () => Promise<void>
  readonly sealedKeys: SealedKeys
  /** The metrics of the store, its journal, its tables and its index workers. */
  readonly metrics: readonly MetricSource[]
}

/** What the shards of a store are made with. */
export interface StoreCore {
  readonly registry: TableRegistry
  readonly catalog: Catalog
  readonly router: ShardRouter
  readonly led: LedShards
  readonly indexes: IndexParts | undefined
  /** Ends every transaction whose record lies on a sealed shard. */
  readonly drain: (shard: LedShard) => Promise<void>
}

/** Where the shards of a store are: all in this process, or on the nodes of a cluster. */
export interface StorePlace {
  readonly host: TableShards
  readonly replication: ReplicationRules
  readonly cluster: ClusterService
  /** Absent: each shard has one replica, and stale reads are those of the shard. */
  readonly replicasOf?: FindReplicas
  /** Absent: no replica is nearer than a leader. */
  readonly nearOf?: FindNear
  /** Whether this node takes up what others left half done. */
  readonly mayRepair: () => boolean
  /** See SwarmStoreOptions. */
  readonly learnTable?: (name: string) => Promise<void>
  /** Opens the tables of the catalog. */
  openTables(admin: TableAdmin): Promise<void>
  /** Called when the node counts as one of the cluster. */
  readonly onJoined?: () => Promise<void>
  readonly metrics: readonly MetricSource[]
}

/** Builds a store and opens its tables; `life` closes them. */
export async function openStore(
  parts: StoreParts,
  life: Lifecycle,
  buildPlace: (core: StoreCore) => Promise<StorePlace>,
): Promise<OpenedStore> {
  const { hybridClock, clock, log, randomBits, journal, coordination } = parts
  const registry = new TableRegistry()
  const fields = new FieldCatalog(coordination, log)
  const catalog = new Catalog(coordination, fields)
  const router = new TableRoutes({ registry, catalog })
  const finisher = new TransactionFinisher({ router, clock, log })
  const led = new LedShards()
  const shards = () => led.all()
  const ending = { router, finisher, hybridClock, log }
  const isOnlyProcess = coordination.scope === 'process'
  const recovery = new TransactionRecovery({ ...ending, shards, isOnlyProcess })
  const runner = new TransactionRunner({ clock, hybridClock, router, finisher, randomBits })
  const opened = openIndexes(parts, fields, life)
  const drain = (shard: LedShard) => recovery.drain(shard)
  const place = await buildPlace({ registry, catalog, router, led, indexes: opened?.parts, drain })
  const { host, replication, cluster, mayRepair, replicasOf, nearOf } = place
  const known = { catalog, registry, host, replication, process: parts.process }
  const asked = { clock, surroundings: parts.providers, media: parts.media, registry }
  const { queries: models, openEnrichment, enrichments, ...forIndexes } = openModels(asked, life)
  const { keys } = forIndexes
  const admin = new TableAdmin({ ...known, ...forIndexes, clock, log, randomBits })
  const shared = { hybridClock, led, pins: new ReadPins(clock, parts.nodeId) }
  const kept = { ...shared, clock, log, mayRepair, stores: parts.stores }
  const sealedKeys = new SealedKeys({ registry, keys, admin, clock, log })
  const housekeeper = new NodeHousekeeper({ ...kept, recovery, finisher, admin, sealedKeys })
  const idempotency = new Idempotency({ clock, admin, registry })
  const store = new SwarmStore({
    clock: new DocumentClock(clock, hybridClock),
    registry,
    admin,
    idempotency,
    ...shared,
    housekeeper,
    fields,
    stale: replicasOf && new StaleReads({ replicasOf, hybridClock, clock }),
    near: nearOf && new NearTables({ nearOf, clock }),
    models,
    keys,
    writer: new EnrichedWriter({ clock, runner, enrichments }),
    replication,
    cluster,
    learnTable: place.learnTable,
    program: { version: parts.version, gitCommit: parts.gitCommit },
  })

  life.onClose(() => admin.closeAll())
  const enrichers = openEnrichers({ led, openEnrichment, randomBits, clock, log }, life)
  await place.openTables(admin)
  life.onClose(() => finisher.end())

  const finishStart = async (): Promise<void> => {
    await recovery.runAtStart()
    await place.onJoined?.()
    if (mayRepair()) await admin.repair()
    housekeeper.start()
    life.onClose(() => housekeeper.stop())
    store.setReady()
    sealedKeys.watch()
  }
  const counters = { runner, recovery, idempotency, housekeeper }
  const counting = { ...ending, clock, registry, led, keys, ...counters }
  const measured = { ...counting, journal, enrichers, opened, isReady: () => store.ready() }
  const metrics = [...metricsOf(measured), ...place.metrics]
  return { store, cluster, registry, housekeeper, admin, sealedKeys, shards, finishStart, metrics }
}

interface MeasuredParts
  extends Omit<StoreMetricsOptions, 'indexEvents'>, Pick<StoreParts, 'journal'> {
  readonly enrichers: Enrichers | undefined
  readonly opened: OpenedIndexes | undefined
}

function metricsOf(parts: MeasuredParts): MetricSource[] {
  const { clock, led, journal, registry, enrichers, opened } = parts
  const tables = new TableMetrics({ clock, led, tables: () => registry.tables() })
  const made = enrichers && [() => enrichmentMetrics(enrichers.counts())]
  return [
    storeMetrics({ ...parts, indexEvents: opened?.parts.events }),
    () => journal.metricLines(),
    () => tables.lines(),
    ...(made ?? []),
    ...(opened?.metrics ?? []),
  ]
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
