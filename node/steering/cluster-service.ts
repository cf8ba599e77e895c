// The cluster as the HTTP API sees and steers it, whether it has one node or many.

import { SHARD_TROUBLES, type ShardTrouble } from '../controller/core/reported-cluster.ts'
import type { NodeSteering } from '../controller/core/node-requests.ts'
import type { ReplicaLag } from '../replication/core/follower-progress.ts'
import type {
  ClusterNode,
  ClusterShard,
  ClusterSummary,
  CollectAnswer,
  NodeList,
  RecoveryAnswer,
  ShardPage,
} from './cluster-answers.ts'

/** Which shards to list. */
export interface ShardFilter {
  /** The name of a table. */
  readonly table: string | undefined
  readonly trouble: ShardTrouble | 'any' | undefined
  readonly limit: number
  /** `next_cursor` of the page before; undefined: the first page. */
  readonly cursor: string | undefined
}

/**
 * Seeing and steering a cluster. Every node answers.
 *
 * Contract:
 * - `summary` never rejects: what cannot be known is its `problem`.
 * - `nodes` answers within two seconds: without a controller from what the asked node knows, with its age.
 * - `slowest` never rejects: it answers as far as the leaders of shards do, within a second.
 * - The other methods reject with UNAVAILABLE while the control plane does not answer; nothing has
 *   changed then, or the change can be asked for again.
 * - `shards` lists in an order that does not change, so that pages of a quiet cluster show each shard
 *   once. A table that does not exist is NOT_FOUND.
 * - Steering resolves when the wish is stored, with the node or shard as it is then. What follows from it
 *   takes its time, and is seen in later answers.
 * - A wish that is fulfilled, or under way, is accepted again, so retries are harmless.
 * - A node or shard that does not exist is NOT_FOUND. CONFLICT says why the cluster is not in a state for
 *   the wish. In swarm mode every wish is INVALID_ARGUMENT, because there is one node.
 */
export interface ClusterService {
  summary(): Promise<ClusterSummary>
  nodes(): Promise<NodeList>
  shards(filter: ShardFilter): Promise<ShardPage>
  /** By shard id, how far its slowest replica is behind; empty in swarm mode. */
  slowest(): Promise<ReadonlyMap<string, ReplicaLag>>
  /**
   * With an operation: CONFLICT while another one has the node, or after that one was ended. A node that is not there hands
   * nothing over: CONFLICT.
   */
  steerNode(node: string, steering: NodeSteering): Promise<ClusterNode>
  /** CONFLICT unless it was decommissioned, is gone and holds nothing. A node that is forgotten is NOT_FOUND. */
  forgetNode(node: string): Promise<void>
  /**
   * Lists the replicas on the node that belong to no table, after it has removed those of them that are named. CONFLICT, and
   * nothing is removed, for a shard that the cluster knows. Naming one that is gone is harmless.
   */
  collectLeftovers(node: string, shards: readonly string[]): Promise<CollectAnswer>
  /**
   * Makes a control plane that was restored from a backup the newest again. Asked again, it answers that no member waits.
   * CONFLICT as long as a member that `without` does not name has not reported.
   */
  recover(without: readonly string[]): Promise<RecoveryAnswer>
  moveReplica(
    shard: string,
    nodes: { readonly from: string; readonly to: string },
  ): Promise<ClusterShard>
  transferLeader(shard: string, to: string): Promise<ClusterShard>
}

/** The trouble that the text names; undefined for every other text. */
export function readTrouble(text: string | undefined): ShardFilter['trouble'] {
  return text === 'any' ? text : SHARD_TROUBLES.find((name) => name === text)
}
