// The map as the replicas of this node see it: by the names of shards, and one shard at a time.

import { ServiceError } from '../../lib/errors.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import type { InSyncChange, NodeId, ShardConfiguration } from '../replication/core/configuration.ts'
import type { ClusterMap } from './cluster-map.ts'

/** Names a shard of a table. */
export interface ShardName {
  readonly tableId: string
  readonly id: string
}

/**
 * One shard's entry in the control plane, for the shell of its replica. Both calls reject while the store
 * cannot be asked, and with NOT_FOUND when the shard was deleted.
 */
export interface ShardControl {
  /**
   * Makes the change if it still holds; resolves with the configuration afterwards. If that is still the
   * former one, the change is refused: it never happens unless it is asked for again, or
   * another call for it is under way.
   */
  change(change: InSyncChange): Promise<ShardConfiguration>
  /** A linearizable read. */
  confirm(): Promise<ShardConfiguration>
}

/** The configurations of the map, for a host of replicas. The node's map implements it. */
export interface ShardConfigurations {
  configurationOf(shard: ShardName): ShardConfiguration | undefined
  /** Calls `listener` with each later configuration; it must not throw. Returns how to stop. */
  onConfiguration(
    shard: ShardName,
    listener: (configuration: ShardConfiguration) => void,
  ): () => void
  controlOf(shard: ShardName): ShardControl
  /** The nodes that are registered and about to stop, with the lives that end. */
  leaving(): ReadonlyMap<NodeId, number>
  /** Calls `listener` after `leaving` has changed; it must not throw. Returns how to stop. */
  onLeaving(listener: () => void): () => void
}

export function shardConfigurations(map: ClusterMap): ShardConfigurations {
  return {
    configurationOf: (shard) => map.configurationOf(pathOf(shard)),
    onConfiguration: (shard, listener) =>
      map.onConfiguration(pathOf(shard), (configuration) => {
        // A deleted shard is closed by who hosts it, by the catalog.
        if (configuration !== undefined) listener(configuration)
      }),
    controlOf: (shard) => shardControl(map, pathOf(shard)),
    leaving: () => leavingNodes(map),
    onLeaving: (listener) => {
      let known = leavingNodes(map)
      return map.onChange(({ kind }) => {
        if (kind !== 'node') return
        const now = leavingNodes(map)
        if (isSame(known, now)) return
        known = now
        listener()
      })
    },
  }
}

function leavingNodes(map: ClusterMap): ReadonlyMap<NodeId, number> {
  const leaving = new Map<NodeId, number>()
  for (const { id, registration } of map.nodes()) {
    if (registration?.isLeaving === true) leaving.set(id, registration.incarnation)
  }
  return leaving
}

function isSame(a: ReadonlyMap<NodeId, number>, b: ReadonlyMap<NodeId, number>): boolean {
  return a.size === b.size && [...a].every(([node, incarnation]) => b.get(node) === incarnation)
}

function pathOf({ tableId, id }: ShardName): ShardPath {
  return `${tableId}/${id}`
}

function shardControl(map: ClusterMap, path: ShardPath): ShardControl {
  return {
    change: async (change) => found(path, await map.changeInSync(path, change)),
    confirm: async () => found(path, await map.confirm(path)),
  }
}

function found(path: ShardPath, stored: ShardConfiguration | undefined): ShardConfiguration {
  if (stored !== undefined) return stored
  throw new ServiceError('NOT_FOUND', `the cluster has no shard ${path} any more`)
}
