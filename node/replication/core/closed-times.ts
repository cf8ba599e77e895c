// Up to which time the log is complete, so that any replica may be read as of that time.
//
// Invariants:
//   CT1  A closed point holds for good: no entry after `sequence`, of this leader or a later one, commits
//        anything at or below `time`. So a replica that has applied `sequence` shows all of that time.
//   CT2  The leader tells a point when the entries up to `sequence` are committed, and every other member of the
//        maximal in-sync set has answered a message sent after the point was taken. Each message raises its
//        receiver's hybrid clock, so the next leader gives stamps above `time`. No clock is trusted for that.

import type { ClosedPoint } from './messages.ts'
import type { NodeId } from './configuration.ts'
import type { FollowerProgress } from './follower-progress.ts'

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

interface Candidate {
  readonly point: ClosedPoint
  readonly takenMs: number
}

/** The points of one leadership: taken one after the other, each told when CT2 holds. */
export class ClosingTimes {
  #candidate: Candidate | undefined

  /** Whether the next point may be taken. */
  get isWanting(): boolean {
    return this.#candidate === undefined
  }

  /** `point` holds for the entries of this leadership from now on. */
  take(point: ClosedPoint, takenMs: number): void {
    this.#candidate ??= { point, takenMs }
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
