// Watches how long the event loop is held, and by whom.
//
// Whoever begins work for an operation says so in one store; a timer that comes late finds the name
// there. The cells are shared memory, so that another thread can read them while the loop hangs.
//
// Invariants:
//   LW1  A hold is the time by which the timer came late: what one turn took. What a busy machine did not
//        add is its CPU time, and what no collection of garbage added either is its work.
//   LW2  Without requests under way, a hold is nobody's (`background`).
//   LW3  An operation is charged with its work alone.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { CollectionWatch, type ObserveCollections } from './collection-watch.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import { familyLines, Histogram, type Sample } from './metrics.ts'

const PERIOD_MS = 10
const COUNTED_MS = 20
const LOGGED_MS = 100
/** In shorter turns collections are not told from work. */
const TELLING_MS = 5
const BUCKETS_S = [0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.1, 0.25, 0.5, 1, 5, 30]

export const BACKGROUND = 'background'

/** Indices into the shared cells. */
export const LOOP_CELLS = { operation: 0, beats: 1, stop: 2, count: 3 } as const

export interface LoopWatchOptions {
  /** Of the operations, in the order of their numbers, from 1 on. */
  readonly names: readonly string[]
  readonly clock: Clock
  readonly log: Log
  /** CPU time of this thread so far. */
  readonly cpuMs: () => number
  /** Default: of this thread. */
  readonly observeCollections?: ObserveCollections
}

/** What a look found, before it is known which part of it were collections. */
interface Hold {
  readonly operation: number
  /** When the look before it was, when the timer was due, and when it came. */
  readonly lastMs: number
  readonly dueMs: number
  readonly nowMs: number
  /** CPU time since the look before it. */
  readonly cpuMs: number
}

export class LoopWatch {
  readonly names: readonly string[]
  readonly cells = new Int32Array(
    new SharedArrayBuffer(LOOP_CELLS.count * Int32Array.BYTES_PER_ELEMENT),
  )
  readonly #with: LoopWatchOptions
  readonly #holds = new Histogram(BUCKETS_S)
  readonly #cpuHolds = new Histogram(BUCKETS_S)
  readonly #workHolds = new Histogram(BUCKETS_S)
  readonly #counts: Float64Array
  readonly #longestMs: Float64Array
  #underWay = 0
  #lastMs = 0
  #lastCpuMs = 0

  constructor(options: LoopWatchOptions) {
    this.#with = options
    this.names = [BACKGROUND, ...options.names]
    this.#counts = new Float64Array(this.names.length)
    this.#longestMs = new Float64Array(this.names.length)
  }

  /** Requests that have begun and are not answered. */
  get underWay(): number {
    return this.#underWay
  }

  /** A request of the operation begins. */
  enter(operation: number): void {
    this.#underWay += 1
    this.cells[LOOP_CELLS.operation] = operation
  }

  /** Work for a request that has begun goes on. */
  resume(operation: number): void {
    this.cells[LOOP_CELLS.operation] = operation
  }

  /** A request has been answered. */
  leave(): void {
    this.#underWay -= 1
    if (this.#underWay === 0) this.cells[LOOP_CELLS.operation] = 0
  }

  /** Answers how to stop. */
  start(): () => Promise<void> {
    const { clock, observeCollections: observe } = this.#with
    const collections = CollectionWatch.start(observe === undefined ? {} : { observe })
    this.#begin()
    const stop = clock.every(PERIOD_MS, async () => this.#look(collections))
    return async () => {
      await stop()
      collections.stop()
    }
  }

  /** As Prometheus text, with all turns up to now. */
  async lines(): Promise<readonly string[]> {
    // The last turn may be waiting to be told from its collections.
    await nextTurn()
    const held = [...this.names.keys()].filter((number) => (this.#counts[number] ?? 0) > 0)
    const samplesOf = (valueOf: (number: number) => number): Sample[] =>
      held.map((number) => ({
        labels: { operation: this.names[number] ?? '' },
        value: valueOf(number),
      }))
    return [
      ...this.#holds.lines('quarry_event_loop_hold_seconds', 'How late turns of the loop are.'),
      ...this.#cpuHolds.lines('quarry_event_loop_hold_cpu_seconds', 'The CPU time in it.'),
      ...this.#workHolds.lines(
        'quarry_event_loop_hold_work_seconds',
        'The CPU time in it without collections of garbage.',
      ),
      ...familyLines({
        name: 'quarry_event_loop_holds_total',
        type: 'counter',
        help: `Turns of the event loop that took more than ${COUNTED_MS} ms of work.`,
        samples: samplesOf((number) => this.#counts[number] ?? 0),
      }),
      ...familyLines({
        name: 'quarry_event_loop_longest_hold_seconds',
        type: 'gauge',
        help: 'Work of the longest of them.',
        samples: samplesOf((number) => (this.#longestMs[number] ?? 0) / 1000),
      }),
    ]
  }

  #begin(): void {
    const { clock, cpuMs } = this.#with
    this.#lastMs = clock.monotonicMs()
    this.#lastCpuMs = cpuMs()
    this.cells[LOOP_CELLS.beats] = (this.cells[LOOP_CELLS.beats] ?? 0) + 1
  }

  #look(collections: CollectionWatch): void {
    const { clock, cpuMs } = this.#with
    const lastMs = this.#lastMs
    const nowMs = clock.monotonicMs()
    const spentMs = cpuMs() - this.#lastCpuMs
    const heldMs = Math.max(0, nowMs - lastMs - PERIOD_MS)
    const heldCpuMs = Math.min(heldMs, spentMs)
    this.#holds.observe(heldMs / 1000)
    this.#cpuHolds.observe(heldCpuMs / 1000)
    if (heldCpuMs <= TELLING_MS) {
      this.#workHolds.observe(heldCpuMs / 1000)
    } else {
      const operation = this.cells[LOOP_CELLS.operation] ?? 0
      const hold = { operation, lastMs, dueMs: lastMs + PERIOD_MS, nowMs, cpuMs: spentMs }
      collections.whenKnown(() => this.#judge(hold, collections))
    }
    this.#begin()
  }

  #judge({ operation, lastMs, dueMs, nowMs, cpuMs }: Hold, collections: CollectionWatch): void {
    const heldMs = nowMs - dueMs
    // Both are more than the work: the one in a busy machine, the other with the turns before this one.
    const withoutWaits = cpuMs - collections.msWithin(lastMs, nowMs)
    const withoutTurnsBefore = heldMs - collections.msWithin(dueMs, nowMs)
    const workMs = Math.max(0, Math.min(withoutWaits, withoutTurnsBefore))
    this.#workHolds.observe(workMs / 1000)
    if (workMs > COUNTED_MS) {
      this.#counts[operation] = (this.#counts[operation] ?? 0) + 1
      this.#longestMs[operation] = Math.max(this.#longestMs[operation] ?? 0, workMs)
    }
    const heldCpuMs = Math.min(heldMs, cpuMs)
    if (heldCpuMs < LOGGED_MS) return
    this.#with.log.warn('event loop held', {
      operation: this.names[operation],
      ms: Math.round(heldMs),
      cpuMs: Math.round(heldCpuMs),
      workMs: Math.round(workMs),
    })
  }
}
