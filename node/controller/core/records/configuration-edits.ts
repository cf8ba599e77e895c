// What a controller may change of a shard's configuration. Leaders change the in-sync set by
// `changedConfiguration` of the replication core; both compare the revision.

import { assert } from '../../../../lib/assert.ts'
import {
  FIRST_EPOCH,
  type NodeId,
  type ReplicaId,
  type ShardConfiguration,
} from '../../../replication/core/configuration.ts'

/** A configuration before it has a revision and the name of its operation. */
export type ConfigurationDraft = Omit<ShardConfiguration, 'revision' | 'operation'>

/** A new shard: everybody has its empty log, so everybody is in sync. */
export function firstConfiguration(
  replicas: readonly ReplicaId[],
  { leader, minInSync }: { readonly leader: ReplicaId; readonly minInSync: number },
): ConfigurationDraft {
  const nodes = replicas.map(({ node }) => node)
  const epoch = FIRST_EPOCH
  return { epoch, leader, replicas: nodes, inSync: replicas, eligible: [], minInSync }
}

/** A learner more: it holds nothing yet, and its leader adds it to the in-sync set later. */
export function withLearner(before: ShardConfiguration, node: NodeId): ConfigurationDraft {
  assert(!before.replicas.includes(node), 'a node holds one replica of a shard')
  return { ...before, replicas: [...before.replicas, node] }
}

/** The node holds nothing of the shard any more. The caller knows that nothing is lost by it. */
export function withoutReplica(before: ShardConfiguration, node: NodeId): ConfigurationDraft {
  assert(before.leader?.node !== node, 'a leader hands over before it leaves')
  const isOther = (replica: ReplicaId): boolean => replica.node !== node
  return {
    ...before,
    replicas: before.replicas.filter((replica) => replica !== node),
    inSync: before.inSync.filter(isOther),
    eligible: before.eligible.filter(isOther),
  }
}

/** A leadership of a member of the in-sync set, under a new epoch. */
export function withLeader(before: ShardConfiguration, leader: ReplicaId): ConfigurationDraft {
  return { ...before, epoch: before.epoch + 1, leader }
}

/** Nobody may lead. The epoch stays: the next leader gets a new one. */
export function withoutLeader(before: ShardConfiguration): ConfigurationDraft {
  return { ...before, leader: undefined }
}

/** With a lower minimum, entries may be committed that the eligible lack: they are so no more. */
export function withMinimum(before: ShardConfiguration, minInSync: number): ConfigurationDraft {
  const eligible = before.inSync.length >= minInSync ? [] : before.eligible
  return { ...before, minInSync, eligible }
}
