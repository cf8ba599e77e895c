// The store of one node of a cluster: replicas here, leaders anywhere.

import type { Lifecycle } from '../../lib/lifecycle.ts'
import { isServiceError, messageOf } from '../../lib/errors.ts'
import type { Random } from '../../lib/random.ts'
import type { ClusterMap } from '../cluster/cluster-map.ts'
import { shardConfigurations } from '../cluster/shard-configurations.ts'
import type { PeerHandlers } from '../peer/peer.ts'
import type { ReplicaId } from '../replication/core/configuration.ts'
import { RemoteShard } from '../shard/remote/remote-shard.ts'
import { serveShards } from '../shard/remote/serve-shards.ts'
import type { ShardRecord } from './shards/shard-record.ts'
import { openStore, type OpenedStore, type StoreParts, type StorePlace } from './open-store.ts'
import type { StoreCore } from './open-store.ts'
import { CLUSTER_REPLICATION } from './tables/table-replication.ts'
import type { ClusterControl } from './cluster/cluster-control.ts'
import { ClusterShard } from './cluster/cluster-shard.ts'
import { ClusterShards } from './cluster/cluster-shards.ts'
import { ClusterTables } from './cluster/cluster-tables.ts'
import { ControlledCluster } from './cluster/controlled-cluster.ts'
import type { KnownPlaces } from './cluster/known-places.ts'
import { ReplicaHost } from './cluster/replica-host.ts'
import { ReplicaPeers, replicaHandlers } from './cluster/replica-peers.ts'

/** What a node of a cluster has beside the parts of every store. */
export interface ClusterStoreParts extends StoreParts {
  readonly self: ReplicaId
  readonly map: ClusterMap
  readonly control: ClusterControl
  readonly places: KnownPlaces
  readonly random: Random
  /** Called once, before anything is sent: other nodes' calls go to these handlers. */
  readonly onHandlers: (handlers: PeerHandlers, host: ReplicaHost) => void
  /** A replica of the disk cannot be trusted. */
  readonly onDamaged: () => void
}

/** Builds the store of one node and opens its tables; `life` closes them. */
export function openClusterStore(
  parts: ClusterStoreParts,
  life: Lifecycle,
  signal: AbortSignal,
): Promise<OpenedStore> {
  return openStore(parts, life, (core) => clusterPlace(parts, core, { life, signal }))
}

async function clusterPlace(
  parts: ClusterStoreParts,
  core: StoreCore,
  { life, signal }: { readonly life: Lifecycle; readonly signal: AbortSignal },
): Promise<StorePlace> {
  const { coordination, map, control, places, self, clock, log } = parts
  const host = await openHost(parts, core)
  const shardOf = (record: ShardRecord) => clusterShard(parts, host, record)
  const { registry, led, drain } = core
  const known = { self: self.node, coordination, map, host, registry, led, shardOf, drain }
  const onNotOpened = (id: string, error: unknown): void => {
    if (!isServiceError(error) || error.code !== 'CORRUPTION') {
      return log.error('a replica cannot be opened', { shard: id, error: messageOf(error) })
    }
    log.error('the replica on this disk is damaged', { shard: id, error: messageOf(error) })
    parts.onDamaged()
  }
  // The cluster must not count on what this disk has lost.
  for (const [id, error] of host.damaged) onNotOpened(id, error)
  const opening: { tables?: ClusterTables } = {}
  const shards = new ClusterShards({
    coordination,
    clock,
    host,
    shardOf,
    applyHere: async (table) => opening.tables?.apply(table),
  })
  const serving = serveShards({ find: places.find, hybridClock: parts.hybridClock, clock })
  const receive = (from: string, message: Buffer) => host.receive(from, message)
  parts.onHandlers(new Map([...serving, ...replicaHandlers(receive, log)]), host)
  return {
    host: shards,
    replication: CLUSTER_REPLICATION,
    cluster: new ControlledCluster({ control, registry, lagOf: () => undefined }),
    mayRepair: () => map.controller() === self.node,
    openTables: async () => {
      const tables = await ClusterTables.open({ ...known, onNotOpened, clock, log }, signal)
      opening.tables = tables
      life.onClose(() => tables.close())
    },
    metrics: [],
  }
}

function openHost(parts: ClusterStoreParts, core: StoreCore): Promise<ReplicaHost> {
  const { self, stores, journal, admit, hybridClock, clock, log, places } = parts
  const { router, indexes, led } = core
  const network = new ReplicaPeers({ linkTo: (node) => places.linkTo(node), log })
  const configurations = shardConfigurations(parts.map)
  const own = { self, stores, journal, admit, hybridClock, clock, log, router, indexes, led }
  return ReplicaHost.open({ ...own, network, configurations })
}

function clusterShard(
  { places, clock, hybridClock, random }: ClusterStoreParts,
  host: ReplicaHost,
  { id, range }: ShardRecord,
): ClusterShard {
  const remote = new RemoteShard({ id, range, places, clock, hybridClock, random })
  return new ClusterShard({ local: () => host.find(id), remote })
}
