// What the members of a managed etcd say of themselves.

/** An answer of etcd. Members that do not answer are listed too. */
export interface EtcdView {
  readonly readAtMs: number
  /** More than half of the voters answer one another. */
  readonly hasQuorum: boolean
  /** The id of the member that leads. */
  readonly leader?: string
  readonly members: readonly EtcdMember[]
}

/** One member, also one that was added and has not started yet. */
export interface EtcdMember {
  /** In hexadecimal digits. */
  readonly id: string
  /** The pod. A member that was added and has not started yet is named by its peer URL, which the reader of etcd translates. */
  readonly name: string
  readonly isLearner: boolean
  /** It has started with this id at least once. */
  readonly hasStarted: boolean
  /** It answers, and knows the leader. */
  readonly isHealthy: boolean
  /** A learner that is close enough to the leader to vote. */
  readonly isCaughtUp: boolean
  readonly dbBytes: number
  /** What of `dbBytes` is in use: the rest comes back by defragmentation. */
  readonly dbUsedBytes: number
  /** With a larger database it raises `NoSpace`, and all members refuse writes. */
  readonly quotaBytes: number
  readonly alarms: readonly EtcdAlarm[]
}

export type EtcdAlarm = 'NoSpace' | 'Corrupt'
