import type { LogPosition } from './log-index.ts'

/**
 * Leader and follower have the same log up to `last`, all of it committed and on both disks. While nothing
 * happens, a beat of the leader's node stands for its heartbeat.
 */
export interface Rest {
  readonly epoch: number
  readonly last: LogPosition
}
