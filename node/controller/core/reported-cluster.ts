// What the controller tells about the nodes and shards of its cluster.

import type { NodeId } from '../../replication/core/configuration.ts'
import type { ShardPath } from './records/cluster-codec.ts'
import type { MoveCause, MovePhase } from './records/move-record.ts'
import type { NodeHold, NodeRegistration, NodeState } from './records/node-record.ts'
import type { NodeCondition, NodeDisk } from './view/node-view.ts'

/** The worst comes first: a shard counts for its worst trouble alone. */
export const SHARD_TROUBLES = [
  /** It has no replicas yet. */
  'unplaced',
  /** Nobody leads it: neither reads nor writes. */
  'leaderless',
  /** Too few are in sync: reads, but no writes. */
  'below_minimum',
  /** Fewer are in sync than the table wants. */
  'under_replicated',
  /** A replica is where it should not stay. */
  'misplaced',
] as const

export type ShardTrouble = (typeof SHARD_TROUBLES)[number]

/** A node, what it holds, and whether it may be stopped. */
export interface NodeReport {
  readonly id: NodeId
  readonly zone: string
  readonly name: string | undefined
  readonly state: NodeState | undefined
  readonly condition: NodeCondition
  readonly incarnation: number | undefined
  readonly version: string | undefined
  /** The last known ones. */
  readonly addresses: NodeRegistration['addresses'] | undefined
  readonly replicas: number
  readonly leaders: number
  readonly movesIn: number
  readonly movesOut: number
  /** Why it takes no replicas: other nodes do not reach it, or it does not reach them. */
  readonly unreached: string | undefined
  /**
   * Why it should not be stopped now. Undefined: it may be, in order: then its leaderships go to others, and each of
   * its shards serves reads and writes without it.
   */
  readonly neededFor: string | undefined
  /**
   * What a rolling update waits for before it stops the node; empty: it may. Undefined in reports of controllers of
   * earlier versions.
   */
  readonly updateWaitsFor: readonly string[] | undefined
  /** The operation that drains or decommissions it; undefined: it has no id, or nobody does. */
  readonly operationId: string | undefined
  /** It is given no leaderships; undefined: it is. */
  readonly hold: NodeHold | undefined
  /** When it joined, by its wall clock; undefined: nobody knows. */
  readonly registeredAtMs: number | undefined
  /** The file system of its data directory, as it said a short time ago; undefined while it is away. */
  readonly disk: NodeDisk | undefined
  /** Undefined unless the node is being emptied. */
  readonly emptying: EmptyingReport | undefined
}

/** How far a draining or decommissioned node is: done when it holds nothing. */
export interface EmptyingReport {
  readonly isDone: boolean
  readonly replicasLeft: number
  readonly leadersLeft: number
  readonly moving: number
  /** Shards that wait, with the reason; at most NAMED_SHARDS_MAX. */
  readonly waiting: readonly ShardReason[]
}

/** Why nothing happens to a shard. */
export interface ShardReason {
  readonly path: ShardPath
  readonly reason: string
}

/** A shard with its replicas. */
export interface ShardReport {
  readonly path: ShardPath
  /** Undefined: the shard is as it should be. */
  readonly trouble: ShardTrouble | undefined
  readonly leader: NodeId | undefined
  readonly epoch: number
  readonly replicas: readonly NodeId[]
  readonly inSync: readonly NodeId[]
  readonly minInSync: number
  readonly replicationFactor: number
  readonly move: MoveReport | undefined
  /** Why the controller cannot help now; undefined while it does. */
  readonly waits: string | undefined
}

/** A move and where it is. */
export interface MoveReport {
  readonly path: ShardPath
  readonly cause: MoveCause
  readonly from: NodeId | undefined
  readonly to: NodeId
  readonly phase: MovePhase
  readonly bytes: number | undefined
  readonly waits: string | undefined
}

/** The whole cluster. */
export interface ClusterReport {
  readonly nodes: readonly NodeReport[]
  readonly shards: number
  readonly troubles: Readonly<Record<ShardTrouble, number>>
  /** The worst first; at most NAMED_SHARDS_MAX. */
  readonly troubled: readonly ShardReport[]
  readonly moves: readonly MoveReport[]
}
