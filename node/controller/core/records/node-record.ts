import type { NodeId } from '../../../replication/core/configuration.ts'

/**
 * What operators want of a node:
 *
 *   serving ◄──undrain── draining
 *      │ ──────drain──────► │
 *      └──decommission──────┴──► decommissioned ──forget──► forgotten
 *
 * A draining and a decommissioned node give up their leaderships and replicas. A decommissioned one is
 * never used again; once it holds nothing it may be forgotten, and nothing lists it any more. A machine comes back by a start over an empty data directory.
 */
export type NodeState = 'serving' | 'draining' | 'decommissioned' | 'forgotten'

/** A node that has joined the cluster. It outlives the node's lives and their leases. */
export interface NodeRecord {
  readonly id: NodeId
  /** Nodes of a zone may fail together. Empty when the cluster has no zones. */
  readonly zone: string
  /** What people call it; absent: it has no name. */
  readonly name?: string | undefined
  /** Those of its last life, so that people find it while it is away. */
  readonly addresses?: NodeRegistration['addresses'] | undefined
  readonly state: NodeState
  /** When it joined, by its wall clock; absent: it joined in an earlier version, or one has written the record. */
  readonly registeredAtMs?: number | undefined
  /** The greatest with which it has registered. A directory with a lower one is an older copy. */
  readonly incarnation: number
  /** Names the change that made this record. */
  readonly operation: string
  /** The operation that drains or decommissions it, in the words of the caller; absent: it has no id. */
  readonly operationId?: string | undefined
  /** The last operation that an undrain has ended: it begins nothing on the node again. */
  readonly endedOperationId?: string | undefined
  /** It has handed its leaderships over. A start of the node leaves this out, so it is of the present life. */
  readonly hold?: NodeHold | undefined
}

/** For how long a node is given no leaderships. */
export interface NodeHold {
  /** When it ends by the wall clock of the node that was asked. */
  readonly untilMs: number
  /** Its whole length, so that no clock makes more of it. */
  readonly ms: number
  readonly operationId?: string | undefined
}

/** 0 where there is no hold, or where it is over. */
export function holdLeftMs({ hold }: Pick<NodeRecord, 'hold'>, wallMs: number): number {
  return hold === undefined ? 0 : Math.min(hold.ms, Math.max(0, hold.untilMs - wallMs))
}

/** The life of a node. The key is attached to its lease, so that it vanishes with it. */
export interface NodeRegistration {
  readonly id: NodeId
  /** Grows with each start over the data directory. */
  readonly incarnation: number
  /** For other nodes, and for clients: `host:port`. */
  readonly addresses: { readonly peer: string; readonly api: string }
  readonly version: string
  /**
   * The first life since which the data directory has lost nothing. What was in sync in an earlier life
   * misses something that it acknowledged (I3). The directory remembers it, so that a later start over
   * the same damage says so again.
   */
  readonly wholeSince: number
  /** Why it takes no replicas: other nodes do not reach it, or it does not reach them. Absent: they do. */
  readonly unreached?: string | undefined
  /** It is shutting down and wants to hand its leaderships over. */
  readonly isLeaving: boolean
}
