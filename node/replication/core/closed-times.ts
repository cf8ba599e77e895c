// Up to which time the log is complete, so that any replica may be read as of that time.
//
// Invariants:
//   CT1  A closed point holds for good: no entry after `sequence`, of this leader or a later one, commits
//        anything at or below `time`. So a replica that has applied `sequence` shows all of that time.
//   CT2  The leader tells a point when the entries up to `sequence` are committed, and every other member of the
//        maximal in-sync set has answered a message sent after the point was taken. Each message raises its
//        receiver's hybrid clock, so the next leader gives stamps above `time`. No clock is trusted for that.

import type { NodeId } from './configuration.ts'
import type { FollowerProgress } from './follower-progress.ts'

/** `time` is a hybrid timestamp. CT1. */
export interface ClosedPoint {
  readonly time: bigint
  readonly sequence: number
}

/** What a replica knows of closed points. It keeps two that it has not applied yet, however many come. */
export class ClosedTimes {
  #time: bigint | undefined
  #next: ClosedPoint | undefined
  #newest: ClosedPoint | undefined

  /** The newest point that this replica has heard of; undefined: none. */
  get newest(): ClosedPoint | undefined {
    return this.#newest
  }

  note(point: ClosedPoint): void {
    if (point.time <= (this.#newest?.time ?? 0n)) return
    this.#newest = point
    this.#next ??= point
  }

  /** The newest time of which the entries up to `applied` show everything. It never goes back. */
  timeAt(applied: number): bigint | undefined {
    if (this.#newest !== undefined && this.#newest.sequence <= applied) this.#next = this.#newest
    if (this.#next !== undefined && this.#next.sequence <= applied) {
      this.#time = this.#next.time
      this.#next = this.#next === this.#newest ? undefined : this.#newest
    }
    return this.#time
  }
}

/** A log in which nothing happens wakes its followers this often, so that their closed time does not stand still. */
const QUIET_CLOSING_MS = 5000

interface Candidate {
  readonly point: ClosedPoint
  readonly takenMs: number
}

/** The points of one leadership: taken one after the other, each told when CT2 holds. */
export class ClosingTimes {
  #candidate: Candidate | undefined
  #taken: Candidate | undefined

  /** Whether a point was taken that nobody was told yet. */
  get isUnderWay(): boolean {
    return this.#candidate !== undefined
  }

  /** Whether the next point is to be taken of a log that ends with `last`: seldom while nothing happens. */
  isDue(last: number, nowMs: number): boolean {
    if (this.isUnderWay) return false
    const { point, takenMs = -Infinity } = this.#taken ?? {}
    return point?.sequence !== last || nowMs - takenMs >= QUIET_CLOSING_MS
  }

  /** `point` holds for the entries of this leadership from now on. */
  take(point: ClosedPoint, takenMs: number): void {
    if (this.isUnderWay) return
    this.#taken = { point, takenMs }
    this.#candidate = this.#taken
  }

  /** CT2. The point that may be told now. */
  settle(
    committed: number,
    others: ReadonlyMap<NodeId, FollowerProgress>,
  ): ClosedPoint | undefined {
    const { point, takenMs } = this.#candidate ?? {}
    if (point === undefined || takenMs === undefined || point.sequence > committed) return undefined
    // A message of the same millisecond may have left before the point was taken.
    if (!others.values().every(({ heardMs }) => heardMs > takenMs)) return undefined
    this.#candidate = undefined
    return point
  }
}
