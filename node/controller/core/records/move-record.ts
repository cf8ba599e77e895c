import type { NodeId } from '../../../replication/core/configuration.ts'

/** Why a replica moves. */
export type MoveCause =
  /** The node of the old replica is lost. */
  | 'replace'
  /** The node is draining or decommissioned. */
  | 'drain'
  /** The shard has fewer replicas than its table wants. */
  | 'grow'
  /** Two replicas share a zone, and another zone has none. */
  | 'spread'
  | 'balance'
  | 'request'

/**
 * A new replica of a shard on `to`, and after that none on `from`. A shard has at most one move.
 *
 *   adding ──► catching_up ──► handing_over ──► removing ──► (record deleted)
 *
 * The record does not say how far the move is: the shard's configuration does (`move-steps.ts`), so the
 * two cannot differ.
 */
export interface MoveRecord {
  readonly cause: MoveCause
  readonly to: NodeId
  /** Undefined when the shard gets a replica more. */
  readonly from: NodeId | undefined
  /** Names the change that made this record. */
  readonly operation: string
}

/** Where a move is, as the shard's configuration shows it. */
export type MovePhase = 'adding' | 'catching_up' | 'handing_over' | 'removing'
