import type { Lifecycle } from '../../lib/lifecycle.ts'
import { SwarmCluster } from '../steering/swarm-cluster.ts'
import { openStore, type OpenedStore, type StorePlace } from './open-store.ts'
import { openStoreCore, type StoreCore, type StoreParts } from './store-core.ts'
import { conditionsOf } from '../steering/shard-conditions.ts'
import { ShardHost } from '../replicas/tables/shard-host.ts'
import { SWARM_REPLICATION } from '../catalog/admin/table-replication.ts'

/** Builds the store of one process and opens its tables; `life` closes them. */
export async function openSwarmStore(parts: StoreParts, life: Lifecycle): Promise<OpenedStore> {
  const core = openStoreCore(parts, life)
  return openStore(parts, { core, place: swarmPlace(parts, core) }, life)
}

/** All shards are in this process, with one replica each. */
function swarmPlace(
  { stores, journal, admit, hybridClock, clock, log, nodeId, version, disk }: StoreParts,
  core: StoreCore,
): StorePlace {
  const { registry, recovery } = core
  const drain = recovery.drain.bind(recovery)
  const host = new ShardHost({ ...core, drain, stores, journal, admit, hybridClock, clock, log })
  const known = { nodeId, version, registry, clock, disk }
  return {
    host,
    replication: SWARM_REPLICATION,
    cluster: new SwarmCluster({ ...known, conditionsOf: (tables) => conditionsOf(tables, clock) }),
    mayRepair: () => true,
    openTables: async (admin) => {
      await admin.openAll()
      journal.retainOnly(new Set(registry.shardIds()))
    },
    metrics: [],
  }
}
