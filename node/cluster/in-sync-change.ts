// A leader's change of the in-sync set as a commit.

import {
  configurationKey,
  encodeConfiguration,
  liveKey,
  type ShardPath,
} from '../controller/core/records/cluster-codec.ts'
import type { Commit, Condition } from '../coordination/coordination.ts'
import {
  changedConfiguration,
  type InSyncChange,
  type NodeId,
  type ReplicaId,
  type ShardConfiguration,
} from '../replication/core/configuration.ts'
import type { KnownNode } from './known-cluster.ts'

/** What the change is decided on. */
interface Order {
  readonly path: ShardPath
  readonly before: ShardConfiguration
  readonly change: InSyncChange
  readonly nodes: ReadonlyMap<NodeId, KnownNode>
}

/** The configuration after the change, and the commit that makes it so. */
export interface PlannedInSync {
  readonly configuration: Omit<ShardConfiguration, 'revision'>
  readonly commit: Commit
}

/**
 * Undefined when the change must not happen: it is of another revision or epoch, or it adds a replica whose
 * node does not live that life, has lost data in it, or is about to stop (rule I2).
 */
export function plannedInSync({ path, before, change, nodes }: Order): PlannedInSync | undefined {
  const configuration = changedConfiguration(before, change)
  if (configuration === undefined) return undefined
  const when: Condition[] = [{ key: configurationKey(path), modRevision: before.revision }]
  if (change.kind === 'add') {
    const alive = whenFit(change.replica, nodes)
    if (alive === undefined) return undefined
    when.push(alive)
  }
  const value = encodeConfiguration(configuration)
  const commit = { when, changes: [{ type: 'put' as const, key: configurationKey(path), value }] }
  return { configuration, commit }
}

function whenFit(
  { node, incarnation }: ReplicaId,
  nodes: ReadonlyMap<NodeId, KnownNode>,
): Condition | undefined {
  const known = nodes.get(node)
  if (known?.registration?.incarnation !== incarnation) return undefined
  const { wholeSince, isLeaving } = known.registration
  if (isLeaving || incarnation < wholeSince) return undefined
  return { key: liveKey(node), modRevision: known.liveRevision }
}
