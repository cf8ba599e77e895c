// Measures how long each turn holds the event loop, and which operation did it.
//
// The code that begins work for an operation notes it in one store. A timer that fires late reads
// the operation there. The cells are shared memory, so that another thread can read them while the
// loop hangs.
//
// Invariants:
//   LW1  A hold is the time by which the timer was late: the length of one turn. Its CPU time leaves
//        out what a busy machine added. Its work also leaves out garbage collections.
//   LW2  Without running requests, a hold counts for `background`.
//   LW3  An operation is charged only with its work.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { CollectionWatch, type ObserveCollections } from './collection-watch.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import { familyLines, Histogram, type Sample } from './metrics.ts'

const PERIOD_MS = 10
const COUNTED_MS = 20
const LOGGED_MS = 100
/** In shorter turns, collections are not separated from work. */
const TELLING_MS = 5
const BUCKETS_S = [0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.1, 0.25, 0.5, 1, 5, 30]

export const BACKGROUND = 'background'

/** The indices into the shared cells. */
export const LOOP_CELLS = { operation: 0, beats: 1, stop: 2, count: 3 } as const

/** What the watch measures and where it reports. */
export interface LoopWatchOptions {
  /** The names of the operations, in the order of their numbers, from 1 on. */
  readonly names: readonly string[]
  readonly clock: Clock
  readonly log: Log
  /** Answers the CPU time of this thread so far, in ms. */
  readonly cpuMs: () => number
  /** The source of collections. The default is this thread. */
  readonly observeCollections?: ObserveCollections
}

/** One measured turn, before its collections are known. */
interface Hold {
  readonly operation: number
  /** The moments of the previous measurement, of the due timer, and of its late call. */
  readonly lastMs: number
  readonly dueMs: number
  readonly nowMs: number
  /** CPU time since the previous measurement, in ms. */
  readonly cpuMs: number
}

/** The watch of one thread's event loop. `start` begins it. */
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

  /** The number of requests that have begun and are not answered. */
  get underWay(): number {
    return this.#underWay
  }

  /** Notes that a request of the operation begins. */
  enter(operation: number): void {
    this.#underWay += 1
    this.cells[LOOP_CELLS.operation] = operation
  }

  /** Notes that work for a begun request continues. */
  resume(operation: number): void {
    this.cells[LOOP_CELLS.operation] = operation
  }

  /** Notes that a request has been answered. */
  leave(): void {
    this.#underWay -= 1
    if (this.#underWay === 0) this.cells[LOOP_CELLS.operation] = 0
  }

  /** Starts the watch. Answers the function that stops it. */
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

  /** The metrics as Prometheus text, with all turns up to now. */
  async lines(): Promise<readonly string[]> {
    // The collections of the last turn may not be known yet.
    await nextTurn()
    const held = [...this.names.keys()].filter((number) => (this.#counts[number] ?? 0) > 0)
    const samplesOf = (valueOf: (number: number) => number): Sample[] =>
      held.map((number) => ({
        labels: { operation: this.names[number] ?? '' },
        value: valueOf(number),
      }))
    return [
      ...this.#holds.lines('quarry_event_loop_hold_seconds', 'Delay of turns of the event loop.'),
      ...this.#cpuHolds.lines('quarry_event_loop_hold_cpu_seconds', 'CPU time of each turn.'),
      ...this.#workHolds.lines(
        'quarry_event_loop_hold_work_seconds',
        'CPU time of each turn without garbage collections.',
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
        help: 'Work of the longest of these turns.',
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
    // Both values are too high: a busy machine raises the first, and earlier turns raise the
    // second.
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
