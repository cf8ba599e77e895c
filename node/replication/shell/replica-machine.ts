import type { AppendedEntry } from '../../journal/batch-writer.ts'
import type { ClosedPoint } from '../core/closed-times.ts'
import type { NodeId } from '../core/configuration.ts'
import type { LogPosition } from '../core/log-index.ts'

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
  /** The leadership is over. What was proposed and is not committed has an unknown outcome. */
  stopLeading(): void
  /** The follower lacks entries that the journal has no longer. */
  offerSnapshot(to: NodeId): void
  /** The replica does nothing any more; it has to be built anew from another one. */
  halted(reason: string): void
}
