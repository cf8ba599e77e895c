// Nodes, shards and the cluster as the answers of the HTTP contract describe them.

import type { ShardTrouble } from '../controller/core/reported-cluster.ts'
import type { MoveCause, MovePhase } from '../controller/core/records/move-record.ts'
import type { NodeState } from '../controller/core/records/node-record.ts'
import type { NodeCondition } from '../controller/core/view/node-view.ts'

/** The cluster in a few numbers, and why something waits. */
export interface ClusterSummary {
  readonly mode: 'swarm' | 'cluster'
  /** Absent in swarm mode. */
  readonly name?: string
  /** The node that decides about placement; null while none does. */
  readonly controller: string | null
  readonly nodes: Readonly<Record<NodeCondition, number>>
  /** The count of all shards, and by trouble the shards whose worst one it is. */
  readonly shards: Readonly<Record<ShardTrouble | 'total', number>>
  readonly moves: number
  /** The asked node has seen the coordination store go back, and changes nothing any more. */
  readonly frozen?: true
  /** At most a hundred. */
  readonly waiting: readonly WaitingShard[]
  /** More shards wait, or more nodes are not reached, than are listed. */
  readonly truncated?: true
  /** No controller reports: these are the counts that the asked node knows, and how old they may be. */
  readonly age_ms?: number
  /** Nodes that the others cannot use, by name or id; at most a hundred. Absent if there is none. */
  readonly unreached?: readonly { readonly node: string; readonly reason: string }[]
  /** Why nothing can be changed now; absent if all is well. */
  readonly problem?: string
}

/** A shard for which nothing can be done now. */
export interface WaitingShard {
  readonly table: string
  readonly shard: string
  readonly reason: string
}

/** The nodes of a cluster, in the order of their ids. */
export interface NodeList {
  readonly nodes: readonly ClusterNode[]
  /** No controller reports: these are the nodes as the asked one knows them, and how old that may be. */
  readonly age_ms?: number
  /** Why no controller reports. */
  readonly problem?: string
}

/** What a recovery of the control plane has decided for a shard. */
export interface RecoveredShardAnswer {
  readonly table_id: string
  readonly shard: string
  readonly epoch: number
  /** The node whose configuration was the newest; absent: the control plane's own. */
  readonly from?: string
  readonly replicas: readonly string[]
  readonly in_sync: readonly string[]
}

/** What became of the request for a recovery. */
export interface RecoveryAnswer {
  /** False: no node waits before an older control plane, and nothing was changed. */
  readonly performed: boolean
  /** The number of the last recovery; 0 if there was none. */
  readonly recovery: number
  /** The nodes that had reported. */
  readonly reported: readonly string[]
  readonly shard_count: number
  readonly shards: readonly RecoveredShardAnswer[]
  readonly unknown_count: number
  /** Shards of which nodes hold replicas, and that the control plane does not know any more. */
  readonly unknown: readonly { readonly table_id: string; readonly shard: string }[]
}

/** Replicas of a node that belong to no table, and that no drop explains. */
export interface CollectAnswer {
  /** The leftovers that were asked for and existed. */
  readonly removed: readonly string[]
  /** How many are left. */
  readonly leftover_count: number
  /** The first of them; at most a thousand. */
  readonly leftovers: readonly string[]
}

/** A node with what it holds. Members about its life are absent while it is away. */
export interface ClusterNode {
  readonly id: string
  /** What people call it. */
  readonly name?: string
  readonly zone: string
  readonly state: NodeState | 'unknown'
  readonly condition: NodeCondition
  readonly incarnation?: number
  readonly version?: string
  /** `host:port` for clients, of its last life while it is away. */
  readonly api?: string
  /** The operation that drains or decommissions it. */
  readonly operation_id?: string
  /** It is given no leaderships. */
  readonly hold?: { readonly until: string; readonly operation_id?: string }
  /** Why it takes no replicas: other nodes do not reach it, or it does not reach them. */
  readonly unreached?: string
  readonly replicas: number
  readonly leaders: number
  readonly moves_in: number
  readonly moves_out: number
  readonly safe_to_stop: boolean
  /** Why it is not safe to stop it; absent where it is. */
  readonly needed_for?: string
  readonly safe_to_update: boolean
  /** What a rolling update waits for before it stops the node; absent where it may. */
  readonly update_waits_for?: string
  readonly emptying?: NodeEmptying
  /** When it joined, in ISO 8601; absent: it joined in an earlier version. */
  readonly registered_at?: string
  /** The file system of its data directory; `free_bytes` is what the node may still write. */
  readonly disk?: { readonly total_bytes: number; readonly free_bytes: number }
}

/** How far a draining or decommissioned node is. */
export interface NodeEmptying {
  readonly done: boolean
  readonly replicas_left: number
  readonly leaders_left: number
  readonly moving: number
  /** At most a hundred. */
  readonly waiting: readonly WaitingShard[]
  /** There is more that waits. */
  readonly truncated?: true
}

/** A shard with its replicas. `trouble` and `move` are absent where there is none. */
export interface ClusterShard {
  readonly id: string
  readonly table: string
  readonly epoch: number
  readonly leader: string | null
  readonly replicas: readonly ClusterReplica[]
  readonly replication_factor: number
  readonly min_in_sync: number
  readonly trouble?: ShardTrouble
  /** Why nothing can be done for it now. */
  readonly waits?: string
  readonly move?: ClusterMove
}

/**
 * One replica of a shard. `lag` counts log entries that it lacks, and `lag_ms` says how long ago it lacked none.
 * Both are absent of the leader, and where the leader has not said.
 */
export interface ClusterReplica {
  readonly node: string
  readonly role: 'leader' | 'follower' | 'learner'
  readonly in_sync: boolean
  readonly lag?: number
  readonly lag_ms?: number
}

/** A replica on its way to another node. Without `from`, the shard gets one more. */
export interface ClusterMove {
  readonly cause: MoveCause
  readonly from?: string
  readonly to: string
  readonly phase: MovePhase
  readonly bytes?: number
}

/** One page of shards. Without `next_cursor`, it is the last one. */
export interface ShardPage {
  readonly shards: readonly ClusterShard[]
  readonly next_cursor?: string
}
