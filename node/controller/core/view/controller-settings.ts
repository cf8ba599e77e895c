import { assert } from '../../../../lib/assert.ts'

/** How fast and how much the controller changes. Times are of the controller's monotonic clock. */
export interface ControllerSettings {
  /** Commits a second, on average. Together with `changeBurst` it bounds any one second. */
  readonly changesPerSecond: number
  /** Commits at once, after a quiet time. */
  readonly changeBurst: number
  /** Changes a second that only improve the balance; they are among the others. */
  readonly balanceChangesPerSecond: number
  /** Commits without an outcome. */
  readonly inFlightMax: number
  /**
   * A commit without an outcome is taken for lost after this; its conditions make that safe. Limits of moves
   * hold only if it is longer than the deadline of a commit and the lag of the watch together.
   */
  readonly outcomeMaxMs: number
  /** A shard whose change met a conflict is left alone for this long, or until it is observed. */
  readonly conflictPauseMs: number
  /** A node that has been away for this time is lost: its replicas are replaced. */
  readonly replaceAfterMs: number
  /** A move gives up a target that has been away for this time. */
  readonly targetAwayMaxMs: number
  /** Only nodes that have been there for this time take part in balancing. */
  readonly settleMs: number
  /** Moves under way in the cluster. */
  readonly movesMax: number
  /** Moves under way to one node, and moves that one node's leaders feed when another one starts. */
  readonly movesPerNodeMax: number
  /** Bytes of the shards that are on the move. A single larger shard may still move alone. */
  readonly moveBytesMax: number
  readonly moveBytesPerNodeMax: number
  /** Replicas move for balance when two nodes differ by more than twice this part of the mean. */
  readonly replicaTolerance: number
  /** Leaderships move when a node differs from the mean by more than this part of it. */
  readonly leaderTolerance: number
}

const GIB = 1024 ** 3

export const CONTROLLER_SETTINGS: ControllerSettings = checkedSettings({
  changesPerSecond: 90,
  changeBurst: 10,
  balanceChangesPerSecond: 20,
  inFlightMax: 64,
  outcomeMaxMs: 10_000,
  conflictPauseMs: 500,
  replaceAfterMs: 300_000,
  targetAwayMaxMs: 30_000,
  settleMs: 30_000,
  movesMax: 64,
  movesPerNodeMax: 2,
  moveBytesMax: 256 * GIB,
  moveBytesPerNodeMax: 32 * GIB,
  replicaTolerance: 0.05,
  leaderTolerance: 0.05,
})

/** Throws when the numbers do not fit together. */
function checkedSettings(settings: ControllerSettings): ControllerSettings {
  const { changesPerSecond, changeBurst, balanceChangesPerSecond } = settings
  assert(changesPerSecond + changeBurst <= 100, 'etcd gets at most 100 commits a second')
  assert(balanceChangesPerSecond <= changesPerSecond, 'balancing is a part of all changes')
  assert(settings.targetAwayMaxMs <= settings.replaceAfterMs, 'a move gives up before a loss')
  assert(settings.movesPerNodeMax <= settings.movesMax, 'a node has no more moves than all')
  return settings
}
