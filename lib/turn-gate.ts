// Shares the turns of an event loop among all long computations of its thread. So a turn does not
// grow with their number.
//
//   arrival ──► first slice, while the turn has room ──┐
//                                                       ├─► queue ─► turn: a slice of each in the order
//   arrival, the turn is full ─────────────────────────┘             of the queue ─► event loop ─► turn
//
// Invariants:
//   TG1  In a turn, all computations together have about `TURN_MS`. The time of arrivals is
//        subtracted, and only the last slice may overdraw it, by a step.
//   TG2  An unfinished computation gets its next slice after every other one in the queue, and at
//        most one slice in a turn. Slices get shorter with the number of computations, down to a
//        step: a new computation waits for a step of each, not for the end of any.
//   TG3  Of two turns, at least one advances a computation, whatever time arrivals took.
//   TG4  Between two turns, the event loop does all other work that is due.
//   TG5  The code that awaits a queued computation gets a turn of its own, because its length is
//        unknown. A computation that ends on arrival settles at once.

import type { Clock } from './clock.ts'

/** The time of all computations in a turn, in ms. */
const TURN_MS = 8
/** A slice is not shorter than this, except at the end of the turn. */
const SLICE_MS_MIN = 1

/** A computation in steps, as sliced.ts, which stands on this file, calls one. */
type Steps<Result> = Generator<undefined, Result, undefined>

/** How to run one computation. */
export interface GateRun {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly sliceMs: number
  readonly signal: AbortSignal | undefined
}

/** How the gate defers its turns. */
export interface TurnGateOptions {
  /** Calls `turn` after all work that waits on the event loop now. The default is setImmediate. */
  readonly defer?: (turn: () => void) => void
}

/** The gate of one thread. All long computations of the thread must use the same one. */
export class TurnGate {
  /** At most one entry for each running computation. The memory of requests bounds their number. */
  #queue: Waiting[] = []
  readonly #defer: (turn: () => void) => void
  readonly #turn = (): void => this.#takeTurn()
  /** The time used in this turn, by queued computations and by those that arrived since. */
  #turnMs = 0
  #arrivedMs = 0
  #isScheduled = false
  /** Computations that ended in this turn. They settle in the next. */
  #settling: Settling[] = []

  constructor({ defer = setImmediate }: TurnGateOptions = {}) {
    this.#defer = defer
  }

  /** Whether an arriving computation must wait for the next turn. */
  get isFull(): boolean {
    return this.#turnMs + this.#arrivedMs >= TURN_MS
  }

  /** Settles as the computation does. Begins it at once if the turn has room. */
  run<Result>(work: Steps<Result>, options: GateRun): Promise<Result> {
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
   * For computations that run themselves. Resolves in their turn, with the milliseconds that they
   * may use.
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
    // Defers without a queue too, so that the next turn has room again.
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
  /** The time that the continuing code is charged with, in ms. */
  readonly shareMs: number
}

interface Waiting {
  /** Set once the computation has ended. */
  readonly settling: Settling | undefined
  /** Runs at least one step, and at most `roomMs`. Answers the ms that it took. */
  advance(roomMs: number): number
}

interface Running<Result> extends GateRun {
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

class RunningWork<Result> implements Waiting {
  readonly #work: Steps<Result>
  readonly #with: Running<Result>
  settling: Settling | undefined

  constructor(work: Steps<Result>, running: Running<Result>) {
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

  /** Answers the time of the pause. */
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

/** A place in the queue without work of its own. It resolves with its share of the turn. */
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
