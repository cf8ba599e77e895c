// A store in phases: its core (store-core.ts), the place of its shards, and the store over both.

import type { Lifecycle } from '../../lib/lifecycle.ts'
import { DocumentClock } from '../clock/document-clock.ts'
import type { MetricSource } from '../../lib/metrics.ts'
import type { Journal } from '../journal/journal.ts'
import type { Enrichers } from '../enrichment/enrichers.ts'
import type { LedShard } from '../shard/led-shard.ts'
import type { ClusterService } from '../steering/cluster-service.ts'
import { Idempotency } from '../transactions/idempotency.ts'
import { NodeHousekeeper } from './node-housekeeper.ts'
import { enrichmentMetrics } from '../steering/metrics/enrichment-metrics.ts'
import { openEnrichers } from './open-enrichers.ts'
import { openModels } from './open-models.ts'
import { KnownTables, type LearnTable } from '../catalog/tables/known-tables.ts'
import { ReadPins } from '../reads/read-pins.ts'
import { TableReader } from '../reads/table-reader.ts'
import { scanTable } from '../reads/table-scan.ts'
import { RequestWriter } from '../transactions/writes/request-writer.ts'
import { storeMetrics, type StoreMetricsOptions } from '../steering/metrics/store-metrics.ts'
import { NearTables, type FindNear } from '../search/tables/near-tables.ts'
import type { FindReplicas } from '../reads/replica-choice.ts'
import { StaleReads } from '../reads/stale-reads.ts'
import { ShardedStore } from './sharded-store.ts'
import { SealedKeys } from '../catalog/admin/sealed-keys.ts'
import { TableAdmin } from '../catalog/admin/table-admin.ts'
import { TableMetrics } from '../steering/metrics/table-metrics.ts'
import type { TableRegistry } from '../catalog/tables/table-registry.ts'
import type { ReplicationRules } from '../catalog/admin/table-replication.ts'
import type { TableShards } from '../catalog/tables/table-shards.ts'
import { EnrichedWriter } from '../transactions/writes/enriched-writer.ts'
import { TransactionRunner } from '../transactions/transaction-runner.ts'
import type { StoreCore, StoreParts } from './store-core.ts'

/**
 * The store with its tables open. It serves reads and writes, but is not ready before
 * `finishStart`.
 */
export interface OpenedStore {
  readonly store: ShardedStore
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
  readonly learnTable?: LearnTable
  /** Opens the tables of the catalog. */
  openTables(admin: TableAdmin): Promise<void>
  /** Called when the node counts as one of the cluster. */
  readonly onJoined?: () => Promise<void>
  readonly metrics: readonly MetricSource[]
}

/** The second phase: builds the store over the place of its shards, and opens its tables. `life` closes them. */
export async function openStore(
  parts: StoreParts,
  { core, place }: { readonly core: StoreCore; readonly place: StorePlace },
  life: Lifecycle,
): Promise<OpenedStore> {
  const { hybridClock, clock, log, randomBits } = parts
  const { registry, fields, catalog, router, led, finisher, recovery } = core
  const { host, replication, cluster, mayRepair, replicasOf, nearOf } = place
  const shards = () => led.all()
  const runner = new TransactionRunner({ clock, hybridClock, router, finisher, randomBits })
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
  const tables = new KnownTables(registry, place.learnTable)
  const serving = { clock: new DocumentClock(clock, hybridClock), tables }
  const stale = replicasOf && new StaleReads({ replicasOf, hybridClock, clock })
  const { pins } = shared
  const store = new ShardedStore({
    ...serving,
    ...shared,
    registry,
    admin,
    reader: new TableReader({ ...serving, pins, fields, stale }),
    writer: new RequestWriter({
      ...serving,
      writer: new EnrichedWriter({ clock, runner, enrichments }),
      idempotency,
      scan: (signal) => (table, range) => scanTable(pins, { table, range, signal }),
    }),
    housekeeper,
    fields,
    stale,
    near: nearOf && new NearTables({ nearOf, clock }),
    models,
    keys,
    replication,
    cluster,
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
  const counting = { ...shared, clock, registry, keys, runner, recovery, idempotency, housekeeper }
  const measured = { ...counting, core, enrichers, isReady: () => store.ready() }
  const metrics = [...metricsOf(parts.journal, measured), ...place.metrics]
  return { store, cluster, registry, housekeeper, admin, sealedKeys, shards, finishStart, metrics }
}

interface MeasuredParts extends Omit<StoreMetricsOptions, 'indexEvents'> {
  readonly core: StoreCore
  readonly enrichers: Enrichers | undefined
}

function metricsOf(journal: Journal, parts: MeasuredParts): MetricSource[] {
  const { clock, led, registry, enrichers, core } = parts
  const tables = new TableMetrics({ clock, led, tables: () => registry.tables() })
  const made = enrichers && [() => enrichmentMetrics(enrichers.counts())]
  return [
    storeMetrics({ ...parts, indexEvents: core.indexes?.events }),
    () => journal.metricLines(),
    () => tables.lines(),
    ...(made ?? []),
    ...core.indexMetrics,
  ]
}
