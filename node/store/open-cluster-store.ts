// The store of one node of a cluster: replicas here, leaders anywhere.

import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { Lifecycle } from '../../lib/lifecycle.ts'
import { isServiceError, messageOf, type ServiceError } from '../../lib/errors.ts'
import type { Random } from '../../lib/random.ts'
import type { ClusterMap } from '../cluster/cluster-map.ts'
import type { LeaderPlaces } from '../cluster/leader-places.ts'
import { shardConfigurations } from '../cluster/shard-configurations.ts'
import type { OperationTable } from '../peer/operation-table.ts'
import type { PeerHandlers } from '../peer/peer.ts'
import type { NodeId, ReplicaId } from '../replication/core/configuration.ts'
import { restartedLogs } from '../replication/log/restarted-logs.ts'
import { Arrivals } from '../replication/snapshot/arrivals.ts'
import { snapshotHandlers } from '../replication/snapshot/snapshot-handlers.ts'
import { SNAPSHOT_LIMITS } from '../replication/snapshot/snapshot-limits.ts'
import { SnapshotSource } from '../replication/snapshot/snapshot-source.ts'
import { logEndHandlers } from '../controller/shell/replica-ends.ts'
import { readAppliedPosition } from '../shard/replica-snapshot.ts'
import { parseShardId, type ShardId } from '../shard/shard-id.ts'
import { LevelKvStore } from '../storage/level-kv-store.ts'
import type { LevelStoreFactory } from '../storage/level-store-factory.ts'
import { RemoteShard } from '../shard/remote/remote-shard.ts'
import { serveReplicas, serveShards } from '../shard/remote/serve-shards.ts'
import type { FindNear } from '../search/tables/near-tables.ts'
import type { FindReplicas } from '../reads/replica-choice.ts'
import type { ShardRecord } from '../catalog/records/shard-record.ts'
import { openStore, type OpenedStore, type StorePlace } from './open-store.ts'
import { openStoreCore, type StoreCore, type StoreParts } from './store-core.ts'
import { CLUSTER_REPLICATION } from '../catalog/admin/table-replication.ts'
import type { ClusterControl } from '../steering/cluster-control.ts'
import { clusterMetrics, type PeerState } from '../steering/metrics/cluster-metrics.ts'
import { ClusterShard } from '../replicas/cluster-shard.ts'
import { ClusterShards } from '../replicas/tables/cluster-shards.ts'
import { ClusterTables } from '../replicas/tables/cluster-tables.ts'
import { DroppedReplicas } from '../replicas/tables/dropped-replicas.ts'
import { ControlledCluster } from '../steering/controlled-cluster.ts'
import { Leftovers } from '../steering/leftovers.ts'
import { NearReplicas } from '../replicas/near-replicas.ts'
import { KnownPlaces } from '../replicas/known-places.ts'
import { recoverForOperators } from '../steering/recover-for-operators.ts'
import { ReplicaAudit } from '../replicas/replica-audit.ts'
import { offerCopy, ReplicaCopies } from '../replicas/replica-copies.ts'
import { ReplicaCounts } from '../replicas/replica-counts.ts'
import { ReplicaHost } from '../replicas/replica-host.ts'
import { ReplicaLags } from '../replicas/replica-lags.ts'
import { ReplicaPeers, replicaHandlers } from '../replicas/replica-peers.ts'
import { TableNews } from '../replicas/tables/table-news.ts'

/** What a node of a cluster has beside the parts of every store. */
export interface ClusterStoreParts extends StoreParts {
  readonly self: ReplicaId
  readonly dataDir: string
  readonly stores: LevelStoreFactory
  readonly map: ClusterMap
  readonly control: ClusterControl
  readonly leaders: LeaderPlaces
  readonly random: Random
  /** What the store answers other nodes is added, and the table is complete then. */
  readonly operations: OperationTable
  /** How often replicas are checked for damage; 0: never. */
  readonly checkIntervalMs: number
  /** A replica of the disk cannot be trusted. */
  readonly onDamaged: () => void
}

/** Builds the store of one node and opens its tables; `life` closes them. */
export async function openClusterStore(
  parts: ClusterStoreParts,
  life: Lifecycle,
  signal: AbortSignal,
): Promise<OpenedStore> {
  const core = openStoreCore(parts, life)
  const place = await clusterPlace(parts, core, { life, signal })
  return openStore(parts, { core, place }, life)
}

async function clusterPlace(
  parts: ClusterStoreParts,
  core: StoreCore,
  { life, signal }: { readonly life: Lifecycle; readonly signal: AbortSignal },
): Promise<StorePlace> {
  const { coordination, map, leaders, self, clock, log } = parts
  const replicas = await openReplicas(parts, core, life)
  const { host, copies } = replicas
  const places = new KnownPlaces({ self: self.node, map, host, leaders })
  const shardOf = (record: ShardRecord) => clusterShard(parts, { host, places }, record)
  const { registry, led, recovery } = core
  const drain = recovery.drain.bind(recovery)
  const known = { self, coordination, map, host, registry, led, shardOf, drain, clock, log }
  const onNotOpened = (id: string, error: unknown): void =>
    reportNotOpened(parts, replicas.counts, { id, error })
  const rebuild = copies.rebuild.bind(copies)
  // The cluster must not count on what this disk has lost.
  for (const [id, error] of host.damaged) onNotOpened(id, error)
  const tables = new ClusterTables({ ...known, onNotOpened, rebuild })
  const dropped = new DroppedReplicas({ ...known, self: self.node, tables })
  const news = buildNews(parts, tables)
  const applyHere = tables.apply.bind(tables)
  const shards = new ClusterShards({ coordination, news, clock, host, shardOf, applyHere })
  const linkTo = (id: NodeId) => parts.leaders.linkTo(id)
  const leftovers = new Leftovers({ self: self.node, dropped, linkTo })
  const seen = buildSeen(parts, core, { ...replicas, leftovers })
  answerPeers(parts, { ...replicas, places }, [
    seen.handlers,
    news.handlers(),
    leftovers.handlers(),
  ])
  return {
    host: shards,
    ...nearReplicas(parts, host),
    replication: CLUSTER_REPLICATION,
    cluster: seen.cluster,
    mayRepair: () => map.controller() === self.node,
    learnTable: (name) => tables.learn(name),
    openTables: () => {
      life.onClose(() => tables.close())
      return tables.start(signal)
    },
    onJoined: async () => {
      life.onClose(() => dropped.close())
      dropped.start()
    },
    metrics: seen.metrics,
  }
}

interface Replicas {
  readonly host: ReplicaHost
  readonly source: SnapshotSource
  readonly copies: ReplicaCopies
  readonly audit: ReplicaAudit
  readonly counts: ReplicaCounts
}

/** The replicas of this node, what copies them, and what looks for damage in them. */
async function openReplicas(
  parts: ClusterStoreParts,
  core: StoreCore,
  life: Lifecycle,
): Promise<Replicas> {
  const { map, leaders, self, clock, log, stores, control } = parts
  const arrivals = await openArrivals(parts, core)
  const counts = new ReplicaCounts()
  const host = await openHost(parts, core, counts)
  const source = await openSource(parts, host)
  life.onClose(() => source.closeAll())
  const configurations = shardConfigurations(map)
  const linkTo = leaders.linkTo.bind(leaders)
  const known = { self: self.node, host, configurations, linkTo, clock, log, counts }
  const copies = new ReplicaCopies({
    ...known,
    arrivals,
    source,
    random: parts.random,
    handOver: async ({ tableId, id }, to) => {
      await control.requestTransfer({ path: `${tableId}/${id}`, to })
    },
  })
  life.onClose(() => copies.close())
  const onDamaged = (id: ShardId, reason: ServiceError): void => copies.replaceDamaged(id, reason)
  stores.onDamage((name, error) => onDamaged(parseShardId(name), error))
  const audit = new ReplicaAudit({
    ...known,
    hashes: source.hashes,
    directoryOf: (id) => stores.directoryOf(id),
    onDamaged,
    intervalMs: parts.checkIntervalMs,
  })
  life.onClose(() => audit.close())
  return { host, source, copies, audit, counts }
}

function buildNews({ map, leaders, log }: ClusterStoreParts, tables: ClusterTables): TableNews {
  return new TableNews({
    nodes: () => map.nodes().flatMap(({ id, registration }) => (registration ? [id] : [])),
    linkTo: (node) => leaders.linkTo(node),
    reach: (name, stop) => tables.reach(name, stop),
    log,
  })
}

/** From here on this node answers what others ask its replicas and its tables. */
function answerPeers(
  { operations, self, hybridClock, clock, log }: ClusterStoreParts,
  { host, source, copies, audit, places }: Replicas & { readonly places: KnownPlaces },
  others: readonly PeerHandlers[],
): void {
  const { find, findReplica } = places
  operations.add(serveShards({ find, coming: places, hybridClock, clock }))
  operations.add(serveReplicas({ find: findReplica, hybridClock, clock }))
  const receive = (from: string, message: Buffer) => host.receive(from, message)
  const receiveBeat = (from: string, beat: Buffer) => host.receiveBeat(from, beat)
  operations.add(replicaHandlers({ receive, receiveBeat }, log))
  operations.add(snapshotHandlers(source))
  operations.add(copies.handlers())
  operations.add(audit.handlers())
  const endOf = (name: string) => host.endOf(parseShardId(name.slice(name.indexOf('/') + 1)))
  operations.add(logEndHandlers(self.incarnation, endOf))
  for (const handlers of others) operations.add(handlers)
  operations.complete()
}

function reportNotOpened(
  { log, onDamaged }: ClusterStoreParts,
  counts: ReplicaCounts,
  { id, error }: { readonly id: string; readonly error: unknown },
): void {
  if (!isServiceError(error) || error.code !== 'CORRUPTION') {
    return log.error('a replica cannot be opened', { shard: id, error: messageOf(error) })
  }
  log.error('the replica on this disk is damaged', { shard: id, error: messageOf(error) })
  counts.damaged += 1
  onDamaged()
}

/** What shows the cluster: to clients, to other nodes, and to Prometheus. */
function buildSeen(
  parts: ClusterStoreParts,
  { registry }: StoreCore,
  own: Pick<Replicas, 'host' | 'source' | 'counts'> & { readonly leftovers: Leftovers },
) {
  const { control, map, leaders, clock } = parts
  const { node: self } = parts.self
  const { host, source, counts, leftovers } = own
  const lags = new ReplicaLags({
    self,
    leading: () => host.leading(),
    leaders: () => leadersOf(map),
    linkTo: (node) => leaders.linkTo(node),
    clock,
  })
  const recover = (without: readonly string[]) =>
    recoverForOperators(parts.coordination, { without, clock })
  const cluster = new ControlledCluster({ control, registry, lags, leftovers, recover, clock })
  const counted = () => ({
    elections: counts.elections,
    inSyncChanges: counts.inSyncChanges,
    snapshotBytes: { sent: source.sentBytes, received: counts.receivedBytes },
    lagMax: lags.entriesMax,
    comparisons: counts.comparisons,
    damaged: counts.damaged,
    peers: peerStates(parts),
  })
  const metrics = [clusterMetrics({ cluster, nodeId: self, clock, counts: counted })]
  return { cluster, handlers: lags.handlers(), metrics }
}

function peerStates({
  map,
  leaders,
  self,
}: ClusterStoreParts): Readonly<Record<PeerState, number>> {
  const states = { idle: 0, connecting: 0, connected: 0, waiting: 0 }
  for (const { id, registration } of map.nodes()) {
    if (id === self.node || registration === undefined) continue
    const kind = leaders.linkTo(id)?.state('prompt').kind ?? 'idle'
    if (kind !== 'closed') states[kind] += 1
  }
  return states
}

function leadersOf(map: ClusterMap): ReadonlySet<NodeId> {
  const leaders = [...map.shards().values()].flatMap(({ leader }) => leader?.node ?? [])
  return new Set(leaders)
}

/** Swaps that a crash interrupted are completed before any store is opened. */
async function openArrivals(
  { dataDir, stores, journal, admit, clock, log }: ClusterStoreParts,
  { indexes }: StoreCore,
): Promise<Arrivals> {
  const arrivals = await Arrivals.open({
    directory: path.join(dataDir, 'snapshots', 'incoming'),
    indexRoot: indexes?.root ?? path.join(dataDir, 'indexes'),
    openStore: (directory) => LevelKvStore.open(directory, { clock }),
    replaceStore: (name, directory) => stores.replace(name, directory),
    readPosition: readAppliedPosition,
    admit: (bytes) => admit?.(bytes, false),
    log,
  })
  await arrivals.settle((ids) => restartedLogs(journal, ids))
  return arrivals
}

function openSource({ dataDir, clock, log }: ClusterStoreParts, host: ReplicaHost) {
  return SnapshotSource.open({
    replicaOf: (logId) => host.find(parseShardId(logId))?.copied,
    directory: path.join(dataDir, 'snapshots', 'outgoing'),
    clock,
    log,
    randomBytes,
    limits: SNAPSHOT_LIMITS,
  })
}

function openHost(
  parts: ClusterStoreParts,
  core: StoreCore,
  counts: ReplicaCounts,
): Promise<ReplicaHost> {
  const { self, stores, journal, admit, hybridClock, clock, log, leaders } = parts
  const { router, indexes, led } = core
  const linkTo = leaders.linkTo.bind(leaders)
  const own = { self, stores, journal, admit, hybridClock, clock, log, router, indexes, led }
  return ReplicaHost.open({
    ...own,
    network: new ReplicaPeers({ linkTo, log }),
    configurations: shardConfigurations(parts.map),
    offerSnapshot: (id, to) => offerCopy(linkTo(to), id),
    onContradicted: parts.onDamaged,
    counts,
  })
}

function nearReplicas(
  { self, map, leaders, clock, hybridClock, random }: ClusterStoreParts,
  host: ReplicaHost,
): { readonly replicasOf: FindReplicas; readonly nearOf: FindNear } {
  const near = new NearReplicas({
    self: self.node,
    map,
    local: (id) => host.find(id),
    linkTo: (node) => leaders.linkTo(node),
    clock,
    hybridClock,
    random,
  })
  return { replicasOf: (id) => near.of(id), nearOf: (id) => near.nearerThanLeader(id) }
}

function clusterShard(
  { clock, hybridClock, random }: ClusterStoreParts,
  { host, places }: { readonly host: ReplicaHost; readonly places: KnownPlaces },
  { id, range }: ShardRecord,
): ClusterShard {
  const remote = new RemoteShard({ id, range, places, clock, hybridClock, random })
  return new ClusterShard({ local: () => host.find(id), remote })
}
