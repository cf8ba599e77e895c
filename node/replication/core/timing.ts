import { assert } from '../../../lib/assert.ts'

/** In milliseconds of each replica's own monotonic clock. */
export interface ReplicationTiming {
  /** A leader sends each follower something this often, which also repairs lost messages. */
  readonly heartbeatMs: number
  /** How long a follower keeps from newer leaders after it has heard of one. */
  readonly grantMs: number
  /** A follower that has not caught up within this time leaves the in-sync set. */
  readonly lagMaxMs: number
  /** A change of the in-sync set without an outcome is asked for again after this. */
  readonly changeRetryMs: number
  /** A read that nobody confirms is refused after this. */
  readonly readTimeoutMs: number
  /** By how much the rates of two clocks may differ: the only assumption about clocks. */
  readonly rateErrorRatio: number
  /** Sent and not acknowledged, for one follower. */
  readonly windowBytes: number
  /** In one message; one entry may be longer. */
  readonly messageBytesMax: number
}

const KIB = 1024

export const REPLICATION_TIMING: ReplicationTiming = checkedTiming({
  heartbeatMs: 250,
  grantMs: 2000,
  lagMaxMs: 3000,
  changeRetryMs: 1000,
  readTimeoutMs: 2000,
  rateErrorRatio: 0.01,
  windowBytes: 4096 * KIB,
  messageBytesMax: 1024 * KIB,
})

/** Throws when the numbers do not fit together. */
function checkedTiming(timing: ReplicationTiming): ReplicationTiming {
  assert(timing.heartbeatMs * 3 <= timing.grantMs, 'grants outlive two lost heartbeats')
  assert(timing.heartbeatMs * 3 <= timing.lagMaxMs, 'a lost heartbeat makes nobody leave')
  assert(timing.messageBytesMax <= timing.windowBytes, 'a message fits into the window')
  assert(timing.rateErrorRatio >= 0 && timing.rateErrorRatio < 0.2, 'clock rates are near')
  return timing
}
