import type { NodeId } from '../../../replication/core/configuration.ts'
import type { Condition } from '../../../coordination/coordination.ts'
import type { ConfigurationDraft } from '../records/configuration-edits.ts'
import type { MoveRecord } from '../records/move-record.ts'
import type { NodeView } from '../view/node-view.ts'
import { liveKey, nodeKey } from '../records/cluster-codec.ts'
import type { ShardView } from '../view/shard-view.ts'

/** What is done to a shard, in the order of urgency. */
export const URGENCIES = [
  /** A leader for a shard without one, or a damaged replica that must not become one. */
  'elect',
  /** A leadership away from a node that is about to go. */
  'hand_over',
  /** The keys of a shard that the catalog has removed. */
  'discard',
  /** The first replicas of a new shard. */
  'place',
  /** The next step of a move. */
  'advance',
  /** The table's minimum of replicas in sync. */
  'policy',
  /** A replica more than the table wants. */
  'trim',
  /** The start of a move because a replica is lost or missing. */
  'repair',
  'drain',
  'spread',
] as const

export type Urgency = (typeof URGENCIES)[number]

export type StepKind = Urgency | 'balance_replicas' | 'balance_leaders' | 'request'

/** A change of one shard before it is encoded. Absent members stay as they are. */
export interface Step {
  readonly kind: StepKind
  readonly shard: ShardView
  /** For an operator: what happens and why. */
  readonly reason: string
  readonly configuration?: ConfigurationDraft | 'delete'
  readonly move?: Omit<MoveRecord, 'operation'> | 'delete'
  /** Beside those on the shard's own keys. */
  readonly when: readonly Condition[]
}

/** Nothing can be done now, for this reason. */
export interface Waiting {
  readonly waits: string
  /** Nodes whose replicas have to say where their logs end. */
  readonly ask?: readonly NodeId[]
}

export type Decision = Step | Waiting

export function isStep(decision: Decision): decision is Step {
  return 'kind' in decision
}

/** The node lives this life, and no other. */
export function whenAlive({ id, live }: Pick<NodeView, 'id' | 'live'>): Condition {
  return { key: liveKey(id), modRevision: live?.revision ?? 0 }
}

/** The node has joined, and operators want of it what they did when this was decided. */
export function whenAsStored({ id, stored }: NodeView): Condition {
  return { key: nodeKey(id), modRevision: stored?.revision ?? 0 }
}
