// The shards of a simulated node, as node/store/open-cluster-store.ts builds them, without
// snapshots: every replica can be brought up from the log.

import { isServiceError, messageOf } from '../../../../lib/errors.ts'
import type { Random } from '../../../../lib/random.ts'
import type { ClusterMap } from '../../../../node/cluster/cluster-map.ts'
import type { DamageReport } from '../../../../node/cluster/damage-report.ts'
import type { LeaderPlaces } from '../../../../node/cluster/leader-places.ts'
import { shardConfigurations } from '../../../../node/cluster/shard-configurations.ts'
import type { ClusterControl } from '../../../../node/steering/cluster-control.ts'
import { ClusterShard } from '../../../../node/replicas/cluster-shard.ts'
import { ClusterShards } from '../../../../node/replicas/tables/cluster-shards.ts'
import { ClusterTables } from '../../../../node/replicas/tables/cluster-tables.ts'
import { Leftovers } from '../../../../node/steering/leftovers.ts'
import { recoverForOperators } from '../../../../node/steering/recover-for-operators.ts'
import { DroppedReplicas } from '../../../../node/replicas/tables/dropped-replicas.ts'
import { ControlledCluster } from '../../../../node/steering/controlled-cluster.ts'
import { KnownPlaces } from '../../../../node/replicas/known-places.ts'
import { ReplicaHost } from '../../../../node/replicas/replica-host.ts'
import { ReplicaPeers, replicaHandlers } from '../../../../node/replicas/replica-peers.ts'
import { ReplicaLags } from '../../../../node/replicas/replica-lags.ts'
import { TableNews } from '../../../../node/replicas/tables/table-news.ts'
import type { StorePlace } from '../../../../node/store/open-store.ts'
import type { StoreCore, StoreParts } from '../../../../node/store/store-core.ts'
import type { ShardRecord } from '../../../../node/catalog/records/shard-record.ts'
import { CLUSTER_REPLICATION } from '../../../../node/catalog/admin/table-replication.ts'
import type { OperationTable } from '../../../../node/peer/operation-table.ts'
import type { ReplicaId } from '../../../../node/replication/core/configuration.ts'
import type { TableSettings } from '../../../../node/shard/command/table-settings.ts'
import { RemoteShard } from '../../../../node/shard/remote/remote-shard.ts'
import { serveShards } from '../../../../node/shard/remote/serve-shards.ts'
import { logEndHandlers } from '../../../../node/controller/shell/replica-ends.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import type { NodeLife } from './simulated-node.ts'

const REBUILD_POLL_MS = 500

/** What the place of a node is made of. */
export interface PlaceParts extends StoreParts {
  readonly self: ReplicaId
  readonly map: ClusterMap
  readonly control: ClusterControl
  readonly leaders: LeaderPlaces
  readonly random: Random
  readonly life: NodeLife
  readonly damage: DamageReport
  readonly operations: OperationTable
}

export async function simulatedPlace(parts: PlaceParts, core: StoreCore): Promise<StorePlace> {
  const { coordination, map, control, leaders, self, clock, log, life, operations } = parts
  const { registry, led, recovery } = core
  const drain = recovery.drain.bind(recovery)
  const host = await openHost(parts, core)
  life.host = host
  const places = new KnownPlaces({ self: self.node, map, host, leaders })
  const shardOf = ({ id, range }: ShardRecord): ClusterShard => {
    const { hybridClock, random } = parts
    const remote = new RemoteShard({ id, range, places, clock, hybridClock, random })
    return new ClusterShard({ local: () => host.find(id), remote })
  }
  const onNotOpened = (id: string, error: unknown): void => {
    log.warn('a replica cannot be opened', { node: self.node, shard: id, error: messageOf(error) })
    if (isServiceError(error) && error.code === 'CORRUPTION') parts.damage.report()
  }
  for (const [id, error] of host.damaged) onNotOpened(id, error)
  const known = { self, coordination, map, host, registry, led, shardOf, drain, clock, log }
  const tables = new ClusterTables({
    ...known,
    onNotOpened,
    rebuild: (record, settings) => void rebuild(parts, host, { record, settings }),
  })
  const news = new TableNews({
    nodes: () => map.nodes().flatMap(({ id, registration }) => (registration ? [id] : [])),
    linkTo: (node) => leaders.linkTo(node),
    reach: (name, signal) => tables.reach(name, signal),
    log,
  })
  const shards = new ClusterShards({
    news,
    coordination,
    clock,
    host,
    shardOf,
    applyHere: (table) => tables.apply(table),
  })
  const serving = serveShards({
    find: places.find,
    coming: places,
    hybridClock: parts.hybridClock,
    clock,
  })
  const receive = (from: string, message: Buffer): Promise<void> => host.receive(from, message)
  const receiveBeat = (from: string, beat: Buffer): void => host.receiveBeat(from, beat)
  const lags = new ReplicaLags({
    self: self.node,
    leading: () => host.leading(),
    leaders: () => new Set([...map.shards().values()].flatMap(({ leader }) => leader?.node ?? [])),
    linkTo: (node) => leaders.linkTo(node),
    clock,
  })
  operations.add(serving)
  operations.add(replicaHandlers({ receive, receiveBeat }, log))
  operations.add(lags.handlers())
  operations.add(news.handlers())
  const endOf = (name: string) => host.endOf(parseShardId(name.slice(name.indexOf('/') + 1)))
  operations.add(logEndHandlers(self.incarnation, endOf))
  operations.complete()
  const dropped = new DroppedReplicas({ ...known, self: self.node, tables })
  const leftovers = new Leftovers({
    self: self.node,
    dropped,
    linkTo: (node) => leaders.linkTo(node),
  })
  const recover = (without: readonly string[]) =>
    recoverForOperators(coordination, { without, clock })
  return {
    host: shards,
    replication: CLUSTER_REPLICATION,
    cluster: new ControlledCluster({ control, registry, lags, leftovers, recover, clock }),
    mayRepair: () => map.controller() === self.node,
    openTables: () => {
      life.lifecycle.onClose(() => tables.close())
      return tables.start(new AbortController().signal)
    },
    onJoined: async () => {
      life.dropped = dropped
      life.lifecycle.onClose(() => dropped.close())
      dropped.start()
    },
    metrics: [],
  }
}

function openHost(parts: PlaceParts, { router, indexes, led }: StoreCore): Promise<ReplicaHost> {
  const { self, stores, journal, admit, hybridClock, clock, log, leaders, map, life } = parts
  const own = { self, stores, journal, admit, hybridClock, clock, log, router, indexes, led }
  return ReplicaHost.open({
    ...own,
    network: new ReplicaPeers({ linkTo: (node) => leaders.linkTo(node), log }),
    configurations: shardConfigurations(map),
    offerSnapshot: () => life.failures.push('a replica cannot be brought up from the log'),
  })
}

/** As ReplicaCopies: a replica is built anew when the cluster does not count on it. */
async function rebuild(
  { map, self, clock }: PlaceParts,
  host: ReplicaHost,
  { record, settings }: { readonly record: ShardRecord; readonly settings: TableSettings },
): Promise<void> {
  const name = { tableId: settings.tableId, id: record.id }
  const isCounted = (): boolean => {
    const configuration = shardConfigurations(map).configurationOf(name)
    if (configuration?.leader === undefined || configuration.leader.node === self.node) return true
    const { inSync, eligible } = configuration
    return [...inSync, ...eligible].some(({ node }) => node === self.node)
  }
  while (isCounted()) await clock.sleep(REBUILD_POLL_MS)
  if (host.damaged.has(record.id)) await host.startAnew(record, settings)
}
