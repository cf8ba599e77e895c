import type { LogId } from '../../journal/journal-format.ts'
import type { NodeId } from '../core/configuration.ts'
import type { Rest } from '../core/rest.ts'

/** A rest that both sides have agreed on, as a log holds it. */
export interface HeldRest {
  /**
   * By this node's monotonic clock. At a leader, when the last answered beat was sent; at a follower, when the
   * last beat came.
   */
  readonly atMs: number
  /** Something happens in the log: later beats do not count for it. The log forgets the rest itself. */
  end(): void
}

/**
 * A replica's log, as the beats of its node know it.
 *
 * Contract:
 * - `restUnder` answers whether the replica follows that leader and has all that it has. If so, the log keeps
 *   `held` until something happens in it, and the beats of the leader count as heartbeats that it has answered.
 * - `followerRests` answers whether the leader is still as it was when it offered the rest. If so, it keeps
 *   `held` until something happens, and answered beats count as answered heartbeats.
 * - `leaderWoke` and `followerWoke` end a rest from the other side. What `held` says at the call still counts.
 */
export interface RestingLog {
  readonly logId: LogId
  restUnder(leader: NodeId, rest: Rest, held: HeldRest): boolean
  followerRests(node: NodeId, offered: Rest, held: HeldRest): boolean
  leaderWoke(): void
  followerWoke(node: NodeId): void
}

/** Where a leader's log offers its followers to rest. */
export interface RestOffers {
  /** The offer goes with the next beat to the node, and may be lost. */
  offer(to: NodeId, log: RestingLog, rest: Rest): void
}
