// What a replicated log stands between: the network, the control plane, and the state machine that it drives.

import type { Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import type { SleepWatch } from '../../../lib/sleep-watch.ts'
import type { HybridClock } from '../../clock/hybrid-clock.ts'
import type { AppendedEntry } from '../../journal/batch-writer.ts'
import type { Journal } from '../../journal/journal.ts'
import type { LogId } from '../../journal/journal-format.ts'
import type { ClosedPoint } from '../core/messages.ts'
import type { InSyncChange, NodeId, ReplicaId, ShardConfiguration } from '../core/configuration.ts'
import type { LogPosition } from '../core/log-index.ts'
import type { ReplicationTiming } from '../core/timing.ts'
import type { ReplicaLog } from '../log/replica-log.ts'
import type { RestOffers } from './resting-log.ts'

/** Carries messages to the replicas of one shard. Messages may be lost, and come in order. */
export interface ReplicaNetwork {
  send(to: NodeId, message: Buffer): void
}

/** The shard's entry in the control plane. Both calls reject while it cannot be asked. */
export interface ReplicaControl {
  /**
   * Makes the change if it still holds; resolves with the configuration that is there afterwards. If that is still
   * the one which the change replaces, the change is refused: it never happens unless it is asked for again, or
   * another call for it is under way.
   */
  change(change: InSyncChange): Promise<ShardConfiguration>
  /** A linearizable read. */
  confirm(): Promise<ShardConfiguration>
}

/** The state machine that the log drives. No method may throw. */
export interface ReplicaMachine {
  /** Entries up to here are committed. They can be read by `ReplicatedLog.committedEntries`. */
  committed(through: number): void
  /** No later entry commits anything at or below the point's time. Undefined while it does not serve. */
  closedPoint(): ClosedPoint | undefined
  /** The first entry of a leadership, chained to `previous`. */
  startEntry(epoch: number, previous: LogPosition): AppendedEntry
  /** The first entry of the epoch is committed: this replica leads. */
  serve(epoch: number): void
  /** The leadership is over. `ReplicatedLog.depose` says what becomes of groups that are not committed. */
  stopLeading(): void
  /** The follower lacks entries that the journal has no longer. */
  offerSnapshot(to: NodeId): void
  /** The leader's log is not that of the shard, as this follower's proves. What this one has must stay. */
  refusedLeader(reason: string): void
  /** This leader lacks what was committed, so the disk under it is not what it was. It serves nobody any more. */
  contradicted(reason: string): void
}

/** What a replicated log works with. */
export interface ReplicatedLogOptions {
  readonly self: ReplicaId
  readonly logId: LogId
  /** As `openReplicaLogs` found the log. */
  readonly start: ReplicaLog
  readonly journal: Pick<Journal, 'ready' | 'hurry' | 'entries' | 'committed'>
  readonly clock: Clock
  readonly hybridClock: Pick<HybridClock, 'readPoint' | 'observe'>
  readonly log: Log
  readonly network: ReplicaNetwork
  readonly control: ReplicaControl
  readonly machine: ReplicaMachine
  readonly timing?: ReplicationTiming
  /** Undefined: this log shares no heartbeats with others of its node. */
  readonly beats?: RestOffers | undefined
  /** Undefined: nobody notices that the machine has slept. */
  readonly sleeps?: SleepWatch | undefined
}
