// Shares the turns of an event loop among all long computations of its thread, so that a turn takes no
// longer the more of them are under way.
//
//   arrival ──► first slice, while the turn has room ──┐
//                                                       ├─► queue ─► turn: a slice of each in the order
//   arrival, the turn is full ─────────────────────────┘             of the queue ─► event loop ─► turn
//
// Invariants:
//   TG1  In a turn all computations together have about `TURN_MS`: what arrivals took of it is taken off,
//        and only the last slice may overdraw it, by a step.
//   TG2  A computation that is not over has its next slice after every other in the queue has had one, and
//        at most one in a turn. The more there are, the shorter are the slices, down to a step: a new
//        one waits for a step of each, not for the end of any.
//   TG3  Of two turns at least one takes a computation further, whatever arrivals took.
//   TG4  Between two turns the event loop does everything else that is due.
//   TG5  What follows a computation that had to queue has a turn for itself: it is not known how much
//        it is. What is over when it arrives settles at once.

import type { Clock } from './clock.ts'
import type { Sliced } from './sliced.ts'

/** Of all computations in a turn. */
export const TURN_MS = 8
/** Slices are not made shorter than this, but for the end of the turn. */
const SLICE_MS_MIN = 1

export interface GateRun {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly sliceMs: number
  readonly signal: AbortSignal | undefined
}

export interface TurnGateOptions {
  /** Calls `turn` after everything that waits on the event loop now. Default: setImmediate. */
  readonly defer?: (turn: () => void) => void
}

export class TurnGate {
  /** At most one entry for each computation under way; requests are bounded by their memory. */
  #queue: Waiting[] = []
  readonly #defer: (turn: () => void) => void
  readonly #turn = (): void => this.#takeTurn()
  /** Of this turn, by those who waited for it, and by those who arrived since. */
  #turnMs = 0
  #arrivedMs = 0
  #isScheduled = false
  /** Those of whom a turn made an end, and who go on in the next. */
  #settling: Settling[] = []

  constructor({ defer = setImmediate }: TurnGateOptions = {}) {
    this.#defer = defer
  }

  /** Whether whoever arrives has to wait for the next turn. */
  get isFull(): boolean {
    return this.#turnMs + this.#arrivedMs >= TURN_MS
  }

  /** Settles as the computation does. It begins at once if the turn has room for it. */
  run<Result>(work: Sliced<Result>, options: GateRun): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const running = new RunningWork(work, { ...options, resolve, reject })
    if (this.isFull) {
      this.#enqueue(running)
      return promise
    }
    this.#arrivedMs += running.advance(TURN_MS - this.#turnMs - this.#arrivedMs)
    if (running.settling === undefined) {
      this.#enqueue(running)
    } else {
      running.settling.settle()
      this.#schedule()
    }
    return promise
  }

  /**
   * For computations that go on by themselves. Resolves in their turn with how many milliseconds of it
   * are theirs.
   */
  wait(sliceMs: number): Promise<number> {
    return new Promise((resolve) => this.#enqueue(new Pause(sliceMs, resolve)))
  }

  #enqueue(waiting: Waiting): void {
    this.#queue.push(waiting)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#defer(this.#turn)
  }

  #takeTurn(): void {
    this.#isScheduled = false
    const roomMs = TURN_MS - this.#arrivedMs
    this.#arrivedMs = 0
    this.#turnMs = 0
    if (this.#settling.length === 0) this.#advance(roomMs)
    if (this.#turnMs === 0) this.#settle()
    // Also without a queue: the next turn is one with room again.
    const isIdle = this.#queue.length + this.#settling.length === 0
    if (!isIdle || this.#turnMs > 0) this.#schedule()
  }

  #advance(roomMs: number): void {
    const taken = this.#queue
    const shareMs = Math.max(SLICE_MS_MIN, TURN_MS / taken.length)
    const again: Waiting[] = []
    let leftMs = roomMs
    let count = 0
    for (const next of taken) {
      if (count > 0 && leftMs <= 0) break
      count += 1
      const spentMs = next.advance(Math.min(shareMs, Math.max(leftMs, SLICE_MS_MIN)))
      this.#turnMs += spentMs
      leftMs -= spentMs + (next.settling?.shareMs ?? 0)
      if (next.settling === undefined) again.push(next)
      else this.#settling.push(next.settling)
    }
    this.#queue = [...taken.slice(count), ...again]
  }

  #settle(): void {
    for (const { settle, shareMs } of this.#settling.splice(0)) {
      this.#turnMs += shareMs
      settle()
    }
  }
}

interface Settling {
  readonly settle: () => void
  /** What is counted for whoever goes on. */
  readonly shareMs: number
}

interface Waiting {
  /** Once it is over. */
  readonly settling: Settling | undefined
  /** At least a step, and at most so long; answers how long it took. */
  advance(roomMs: number): number
}

interface Running<Result> extends GateRun {
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

class RunningWork<Result> implements Waiting {
  readonly #work: Sliced<Result>
  readonly #with: Running<Result>
  settling: Settling | undefined

  constructor(work: Sliced<Result>, running: Running<Result>) {
    this.#work = work
    this.#with = running
  }

  advance(roomMs: number): number {
    const { clock, sliceMs, reject } = this.#with
    const beganMs = clock.monotonicMs()
    try {
      return this.#advance(beganMs, beganMs + Math.min(roomMs, sliceMs)) - beganMs
    } catch (error) {
      this.settling = { settle: () => reject(error), shareMs: 0 }
      return clock.monotonicMs() - beganMs
    }
  }

  /** Answers when it paused. */
  #advance(beganMs: number, endMs: number): number {
    const { clock, signal, resolve } = this.#with
    signal?.throwIfAborted()
    let nowMs = beganMs
    do {
      const step = this.#work.next()
      nowMs = clock.monotonicMs()
      if (step.done === true) {
        const { value } = step
        this.settling = { settle: () => resolve(value), shareMs: 0 }
        return nowMs
      }
    } while (nowMs < endMs)
    return nowMs
  }
}

/** Does nothing here, and has its share when it goes on. */
class Pause implements Waiting {
  readonly #sliceMs: number
  readonly #resolve: (roomMs: number) => void
  settling: Settling | undefined

  constructor(sliceMs: number, resolve: (roomMs: number) => void) {
    this.#sliceMs = sliceMs
    this.#resolve = resolve
  }

  advance(roomMs: number): number {
    const shareMs = Math.min(roomMs, this.#sliceMs)
    this.settling = { settle: () => this.#resolve(shareMs), shareMs }
    return 0
  }
}
