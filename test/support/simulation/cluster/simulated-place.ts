// The shards of a simulated node, as node/coordinator/open-cluster-store.ts builds them, without
// snapshots: every replica can be brought up from the log.

import { isServiceError, messageOf } from '../../../../lib/errors.ts'
import type { Random } from '../../../../lib/random.ts'
import type { ClusterMap } from '../../../../node/cluster/cluster-map.ts'
import type { NodeIdentity } from '../../../../node/cluster/node-identity.ts'
import { shardConfigurations } from '../../../../node/cluster/shard-configurations.ts'
import type { ClusterControl } from '../../../../node/coordinator/cluster/cluster-control.ts'
import { ClusterShard } from '../../../../node/coordinator/cluster/cluster-shard.ts'
import { ClusterShards } from '../../../../node/coordinator/cluster/cluster-shards.ts'
import { ClusterTables } from '../../../../node/coordinator/cluster/cluster-tables.ts'
import { ControlledCluster } from '../../../../node/coordinator/cluster/controlled-cluster.ts'
import type { KnownPlaces } from '../../../../node/coordinator/cluster/known-places.ts'
import { ReplicaHost } from '../../../../node/coordinator/cluster/replica-host.ts'
import {
  ReplicaPeers,
  replicaHandlers,
} from '../../../../node/coordinator/cluster/replica-peers.ts'
import { ReplicaLags } from '../../../../node/coordinator/cluster/replica-lags.ts'
import { TableNews } from '../../../../node/coordinator/cluster/table-news.ts'
import type { StoreCore, StoreParts, StorePlace } from '../../../../node/coordinator/open-store.ts'
import type { ShardRecord } from '../../../../node/coordinator/shards/shard-record.ts'
import { CLUSTER_REPLICATION } from '../../../../node/coordinator/tables/table-replication.ts'
import type { ReplicaId } from '../../../../node/replication/core/configuration.ts'
import type { TableSettings } from '../../../../node/shard/command/table-settings.ts'
import { RemoteShard } from '../../../../node/shard/remote/remote-shard.ts'
import { serveShards } from '../../../../node/shard/remote/serve-shards.ts'
import { logEndHandlers } from '../../../../node/controller/shell/replica-ends.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import type { LateHandlers, NodeLife } from './simulated-node.ts'

const REBUILD_POLL_MS = 500

/** What the place of a node is made of. */
export interface PlaceParts extends StoreParts {
  readonly self: ReplicaId
  readonly map: ClusterMap
  readonly control: ClusterControl
  readonly places: KnownPlaces
  readonly random: Random
  readonly life: NodeLife
  readonly identity: NodeIdentity
  readonly handlers: LateHandlers
}

export async function simulatedPlace(parts: PlaceParts, core: StoreCore): Promise<StorePlace> {
  const { coordination, map, control, places, self, clock, log, life, handlers } = parts
  const { registry, led, drain } = core
  const host = await openHost(parts, core)
  life.host = host
  const shardOf = ({ id, range }: ShardRecord): ClusterShard => {
    const { hybridClock, random } = parts
    const remote = new RemoteShard({ id, range, places, clock, hybridClock, random })
    return new ClusterShard({ local: () => host.find(id), remote })
  }
  const onNotOpened = (id: string, error: unknown): void => {
    log.warn('a replica cannot be opened', { node: self.node, shard: id, error: messageOf(error) })
    if (isServiceError(error) && error.code === 'CORRUPTION') void markDamaged(parts)
  }
  for (const [id, error] of host.damaged) onNotOpened(id, error)
  const opening: { tables?: ClusterTables } = {}
  const news = new TableNews({
    nodes: () => map.nodes().flatMap(({ id, registration }) => (registration ? [id] : [])),
    linkTo: (node) => places.linkTo(node),
    reach: async (name, signal) => opening.tables?.reach(name, signal),
    log,
  })
  const shards = new ClusterShards({
    news,
    coordination,
    clock,
    host,
    shardOf,
    applyHere: async (table) => opening.tables?.apply(table),
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
    linkTo: (node) => places.linkTo(node),
    clock,
  })
  const replicas = replicaHandlers({ receive, receiveBeat }, log)
  for (const [operation, handler] of [
    ...serving,
    ...replicas,
    ...lags.handlers(),
    ...news.handlers(),
    ...logEndHandlers(self.incarnation, (name) =>
      host.endOf(parseShardId(name.slice(name.indexOf('/') + 1))),
    ),
  ]) {
    handlers.set(operation, handler)
  }
  handlers.isComplete = true
  return {
    host: shards,
    replication: CLUSTER_REPLICATION,
    cluster: new ControlledCluster({ control, registry, lags, clock }),
    mayRepair: () => map.controller() === self.node,
    openTables: async () => {
      const known = { self, coordination, map, host, registry, led, shardOf, drain, clock, log }
      const tables = await ClusterTables.open(
        {
          ...known,
          onNotOpened,
          rebuild: (record, settings) => void rebuild(parts, host, { record, settings }),
        },
        new AbortController().signal,
      )
      opening.tables = tables
      life.lifecycle.onClose(() => tables.close())
    },
    metrics: [],
  }
}

function openHost(parts: PlaceParts, { router, indexes, led }: StoreCore): Promise<ReplicaHost> {
  const { self, stores, journal, admit, hybridClock, clock, log, places, map, life } = parts
  const own = { self, stores, journal, admit, hybridClock, clock, log, router, indexes, led }
  return ReplicaHost.open({
    ...own,
    network: new ReplicaPeers({ linkTo: (node) => places.linkTo(node), log }),
    configurations: shardConfigurations(map),
    offerSnapshot: () => life.failures.push('a replica cannot be brought up from the log'),
  })
}

async function markDamaged({ life, identity }: PlaceParts): Promise<void> {
  await (life.membership?.markDamaged() ?? identity.markDamaged(identity.incarnation))
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
