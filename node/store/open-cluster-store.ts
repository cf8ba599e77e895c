// The store of one node of a cluster: replicas here, leaders anywhere.

import type { Lifecycle } from '../../lib/lifecycle.ts'
import { isServiceError, messageOf } from '../../lib/errors.ts'
import { CLUSTER_REPLICATION } from '../catalog/admin/table-replication.ts'
import type { ClusterMap } from '../cluster/cluster-map.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import type { OperationTable } from '../peer/operation-table.ts'
import { openReplicas, type ReplicaParts, type Replicas } from '../replicas/open-replicas.ts'
import type { ReplicaCounts } from '../replicas/replica-counts.ts'
import { ReplicaLags } from '../replicas/replica-lags.ts'
import { ClusterShards } from '../replicas/tables/cluster-shards.ts'
import { ClusterTables } from '../replicas/tables/cluster-tables.ts'
import { DroppedReplicas } from '../replicas/tables/dropped-replicas.ts'
import { TableNews } from '../replicas/tables/table-news.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { ClusterControl } from '../steering/cluster-control.ts'
import { ControlledCluster } from '../steering/controlled-cluster.ts'
import { Leftovers } from '../steering/leftovers.ts'
import { clusterMetrics, type PeerState } from '../steering/metrics/cluster-metrics.ts'
import { recoverForOperators } from '../steering/recover-for-operators.ts'
import { openStore, type OpenedStore, type StorePlace } from './open-store.ts'
import { openStoreCore, type StoreCore, type StoreParts } from './store-core.ts'

type OwnReplicaParts = Omit<ReplicaParts, keyof StoreCore | 'handOver'>

/** What a node of a cluster has beside the parts of every store. */
export interface ClusterStoreParts extends Omit<StoreParts, 'stores'>, OwnReplicaParts {
  readonly control: ClusterControl
  /** What the store answers other nodes is added, and the table is complete then. */
  readonly operations: OperationTable
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
  const { coordination, map, leaders, self, clock, log, control, operations } = parts
  const handOver = async (path: ShardPath, to: NodeId): Promise<void> => {
    await control.requestTransfer({ path, to })
  }
  const replicas = await openReplicas({ ...parts, ...core, handOver }, life)
  const { host, copies, near, shardOf } = replicas
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
  const linkTo = leaders.linkTo.bind(leaders)
  const leftovers = new Leftovers({ self: self.node, dropped, linkTo })
  const seen = buildSeen(parts, core, { ...replicas, leftovers })
  const others = [seen.handlers, news.handlers(), leftovers.handlers()]
  // From here on this node answers what others ask its replicas and its tables.
  for (const handlers of [...replicas.handlers, ...others]) operations.add(handlers)
  operations.complete()
  return {
    host: shards,
    replicasOf: (id) => near.of(id),
    nearOf: (id) => near.nearerThanLeader(id),
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

function buildNews({ map, leaders, log }: ClusterStoreParts, tables: ClusterTables): TableNews {
  return new TableNews({
    nodes: () => map.nodes().flatMap(({ id, registration }) => (registration ? [id] : [])),
    linkTo: (node) => leaders.linkTo(node),
    reach: (name, stop) => tables.reach(name, stop),
    log,
  })
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
