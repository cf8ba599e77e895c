import type { Lifecycle } from '../../lib/lifecycle.ts'
import { SwarmCluster } from '../steering/swarm-cluster.ts'
import {
  openStore,
  type OpenedStore,
  type StoreCore,
  type StoreParts,
  type StorePlace,
} from './open-store.ts'
import { conditionsOf } from '../steering/shard-conditions.ts'
import { ShardHost } from '../replicas/tables/shard-host.ts'
import { SWARM_REPLICATION } from '../catalog/admin/table-replication.ts'

/** Builds the store of one process and opens its tables; `life` closes them. */
export function openSwarmStore(parts: StoreParts, life: Lifecycle): Promise<OpenedStore> {
  return openStore(parts, life, async (core) => swarmPlace(parts, core))
}

/** All shards are in this process, with one replica each. */
function swarmPlace(
  { stores, journal, admit, hybridClock, clock, log, nodeId, version, disk }: StoreParts,
  core: StoreCore,
): StorePlace {
  const { registry } = core
  const host = new ShardHost({ ...core, stores, journal, admit, hybridClock, clock, log })
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
