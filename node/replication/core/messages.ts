import type { NodeId } from './configuration.ts'
import type { EntryInfo, LogPosition } from './log-index.ts'

/** `time` is a hybrid timestamp. CT1. */
export interface ClosedPoint {
  readonly time: bigint
  readonly sequence: number
}

/** A leader's entries, or none: then it is a heartbeat. */
export interface AppendMessage {
  readonly kind: 'append'
  readonly epoch: number
  /** The entry before the first one sent. */
  readonly previous: LogPosition
  readonly entries: readonly EntryInfo[]
  readonly committed: number
  /** The leader's monotonic clock when it sent this; comes back with the answer. */
  readonly sentMs: number
  /** The leader's last entry when it sent this; comes back with the answer. */
  readonly logEnd: number
  /** The newest closed point that the leader may tell; undefined: none. */
  readonly closed: ClosedPoint | undefined
}

/**
 * The follower's log equals the leader's up to `durable`, on disk. It follows no newer leader before
 * its grant, counted from the arrival of the answered message, is over.
 */
export interface AppendedMessage {
  readonly kind: 'appended'
  readonly epoch: number
  readonly durable: number
  readonly sentMs: number
  readonly logEnd: number
}

/** The follower lacks `previous`. `hint` is its own last entry that the leader might have. */
export interface MismatchMessage {
  readonly kind: 'mismatch'
  readonly epoch: number
  readonly hint: LogPosition
}

/**
 * The leader's log contradicts the follower's, which stays as it is. `held` is the newest entry of the follower's that is
 * committed, or one that differs from the leader's of the same epoch.
 */
export interface RefusedMessage {
  readonly kind: 'refused'
  readonly epoch: number
  readonly held: LogPosition
  readonly isCommitted: boolean
}

/** There is a newer epoch, this one: the receiver's leadership is over. */
export interface StaleMessage {
  readonly kind: 'stale'
  readonly epoch: number
}

/** The leader of the epoch has stopped: the grants that it was given bind nobody any more. */
export interface ReleaseMessage {
  readonly kind: 'release'
  readonly epoch: number
}

/** Are you still following me? Asked before a read that no grants cover. */
export interface PingMessage {
  readonly kind: 'ping'
  readonly epoch: number
  readonly round: number
}

/** Yes: the sender follows the epoch, and had promised nothing newer when it answered. */
export interface PongMessage {
  readonly kind: 'pong'
  readonly epoch: number
  readonly round: number
}

/**
 * A closed point, outside of the appends. A follower that rests hears it and rests on: what the log has, and what
 * the leader's node knows of the follower, stay as they are.
 */
export interface ClosedMessage {
  readonly kind: 'closed'
  readonly epoch: number
  readonly point: ClosedPoint
}

export type ReplicationMessage =
  | AppendMessage
  | AppendedMessage
  | MismatchMessage
  | RefusedMessage
  | StaleMessage
  | ReleaseMessage
  | PingMessage
  | PongMessage
  | ClosedMessage

/**
 * An `append` whose entries the shell adds from the log: those after `previous`, through `through`.
 * If the log does not have them any more, it sends nothing: the core tries again after a while.
 */
export interface AppendOrder extends Omit<AppendMessage, 'entries'> {
  readonly to: NodeId
  readonly through: number
  /** The follower was not told yet that entries up to `committed` are committed. */
  readonly isNews: boolean
}
