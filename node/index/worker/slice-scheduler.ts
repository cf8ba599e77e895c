// Shares one thread among many computations: each runs for a slice, and then it is the next one's
// turn. Messages that came meanwhile are heard between two turns.
//
//   run ──► searches ──┐
//                      ├─► turn: a slice of searches, then one of indexing ─► event loop ─► turn
//   run ──► indexing ──┘
//
// Invariants:
//   S1  A computation that is not over has its next slice after every other of its priority has
//       had one: none waits longer than the others' slices together.
//   S2  Neither priority starves the other: in each turn both have a slice, if they have work.
//   S3  A computation that waits for something else has no slice until that is there.

import type { Clock } from '../../../lib/clock.ts'
import type { Paced } from '../../../lib/sliced.ts'

export type SlicePriority = 'search' | 'indexing'

/** How long the computations of a priority hold the thread in a turn; a step may overdraw it. */
const SLICE_MS_BY_PRIORITY: Readonly<Record<SlicePriority, number>> = { search: 5, indexing: 4 }

/** How a computation shares the thread with others. */
export interface SliceRun<Label> {
  /** Default: search. */
  readonly priority?: SlicePriority
  /** Called before each slice; what it throws is thrown into the computation. */
  readonly interrupt?: () => void
  /** What is done, for the watch over slices. */
  readonly label?: Label
}

/** Who hears of the end of a computation, within its last slice. What `onDone` throws goes to `onFailed`. */
export interface SliceEnd<Result> {
  readonly onDone: (result: Result) => void
  readonly onFailed: (error: unknown) => void
}

/** What the thread did without a pause. */
export interface Slice<Label> {
  readonly label: Label | undefined
  readonly ms: number
}

/** What a scheduler runs by, and who hears of its slices. */
export interface SliceSchedulerOptions<Label> {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Calls `turn` after everything that waits on the event loop now. */
  readonly defer?: (turn: () => void) => void
  /** Hears of the slice that begins. */
  readonly onBegin?: (label: Label | undefined) => void
  readonly onEnd?: (slice: Slice<Label>) => void
}

/** Runs computations beside each other (S1, S2). It holds the thread only within a turn. */
export class SliceScheduler<Label = string> {
  readonly #with: SliceSchedulerOptions<Label>
  readonly #queues: Readonly<Record<SlicePriority, Task<Label>[]>> = { search: [], indexing: [] }
  #isScheduled = false

  constructor(options: SliceSchedulerOptions<Label>) {
    this.#with = options
  }

  /** Settles as the computation does. It begins in the next turn. */
  run<Result>(work: Paced<Result>, options: SliceRun<Label> = {}): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.start(work, { onDone: resolve, onFailed: reject }, options)
    return promise
  }

  /**
   * As `run`, but the end is told within the slice. Code that waits for a promise continues only after the turn,
   * in which other computations follow.
   */
  start<Result>(
    work: Paced<Result>,
    end: SliceEnd<Result>,
    { priority = 'search', interrupt, label }: SliceRun<Label> = {},
  ): void {
    const running = new RunningWork(work, { ...end, interrupt })
    this.#queues[priority].push({ label, running })
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    const { defer = setImmediate } = this.#with
    defer(() => this.#turn())
  }

  #turn(): void {
    this.#isScheduled = false
    this.#advance('search')
    this.#advance('indexing')
    if (this.#queues.search.length + this.#queues.indexing.length > 0) this.#schedule()
  }

  #continue(task: Task<Label>, priority: SlicePriority, left: Left): void {
    if (left === 'nothing') return
    const queue = this.#queues[priority]
    if (left === 'more') {
      queue.push(task)
      return
    }
    void left.then(() => {
      queue.push(task)
      this.#schedule()
    })
  }

  /** Short computations share a slice. */
  #advance(priority: SlicePriority): void {
    const queue = this.#queues[priority]
    const { clock, onBegin, onEnd } = this.#with
    let beganMs = clock.monotonicMs()
    const endMs = beganMs + SLICE_MS_BY_PRIORITY[priority]
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      const { label, running } = task
      onBegin?.(label)
      this.#continue(
        task,
        priority,
        running.advance(() => clock.monotonicMs() < endMs),
      )
      const nowMs = clock.monotonicMs()
      onEnd?.({ label, ms: nowMs - beganMs })
      if (nowMs >= endMs) return
      beganMs = nowMs
    }
  }
}

/** What a slice leaves: nothing, more, or more after something else (S3). */
type Left = 'nothing' | 'more' | Promise<void>

interface Task<Label> {
  readonly label: Label | undefined
  readonly running: { advance(mayContinue: () => boolean): Left }
}

interface Outcome<Result> extends SliceEnd<Result> {
  readonly interrupt: (() => void) | undefined
}

class RunningWork<Result> {
  readonly #work: Paced<Result>
  readonly #outcome: Outcome<Result>

  constructor(work: Paced<Result>, outcome: Outcome<Result>) {
    this.#work = work
    this.#outcome = outcome
  }

  /** One slice, of at least a step. */
  advance(mayContinue: () => boolean): Left {
    try {
      let step = this.#begin()
      while (step.done !== true) {
        if (step.value !== undefined) return step.value
        if (!mayContinue()) return 'more'
        step = this.#work.next()
      }
      this.#outcome.onDone(step.value)
    } catch (error) {
      this.#outcome.onFailed(error)
    }
    return 'nothing'
  }

  /** A computation that is stopped may still give back what it holds. */
  #begin(): IteratorResult<Promise<void> | undefined, Result> {
    try {
      this.#outcome.interrupt?.()
    } catch (reason) {
      return this.#work.throw(reason)
    }
    return this.#work.next()
  }
}
