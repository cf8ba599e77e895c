// Long computations that share their thread. A computation over a user's data is a generator that
// yields wherever it may pause; whoever runs it decides how long it may hold the thread. All that run here
// share the turns of the thread's event loop (turn-gate.ts).

import type { Clock } from './clock.ts'
import { TurnGate } from './turn-gate.ts'

/**
 * A computation in steps. Contract:
 * - Between two yields it does at most about a millisecond of work, whatever its input.
 * - It holds nothing between two yields that another computation on the thread could break.
 * - Its caller may leave it at any yield; what it allocated is garbage then.
 */
export type Sliced<Result> = Generator<undefined, Result, undefined>

/** For computations that are often so short that they end without a step. */
export function isSliced<Result>(found: Result | Sliced<Result>): found is Sliced<Result> {
  return found instanceof Iterator
}

/** How long a computation may hold the event loop before everybody else gets a turn. */
export const SLICE_MS = 4

/** A thread has one event loop, and this stands for it as `setImmediate` does. */
const GATE = new TurnGate()

/** Counts work in units of the caller's choice and says when a step is full. */
export class StepMeter {
  readonly #unitsPerStep: number
  #left: number

  /** `unitsPerStep` units are about a millisecond of work. */
  constructor(unitsPerStep: number) {
    this.#unitsPerStep = unitsPerStep
    this.#left = unitsPerStep
  }

  /** Whether it is time to yield. */
  spend(units: number): boolean {
    this.#left -= units
    if (this.#left > 0) return false
    this.#left = this.#unitsPerStep
    return true
  }
}

/** Runs a computation to its end without a pause: for tests, tools and inputs known to be small. */
export function runAtOnce<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

export interface SliceOptions {
  readonly clock: Clock
  /** Default SLICE_MS. */
  readonly sliceMs?: number
  /** Ends the computation at the next pause with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Runs a computation in slices, with a turn of the event loop between two of them. */
export function runSliced<Result>(
  work: Sliced<Result>,
  { clock, sliceMs = SLICE_MS, signal }: SliceOptions,
): Promise<Result> {
  return GATE.run(work, { clock, sliceMs, signal })
}

/** Runs a computation that is over in its first step at once, and any other in slices. */
export function runInTurn<Result>(
  work: Sliced<Result>,
  options: SliceOptions,
): Result | Promise<Result> {
  const first = work.next()
  return first.done === true ? first.value : runSliced(work, options)
}

/** For loops that wait anyway: says when their slice is over, and gives everybody else a turn. */
export class SliceClock {
  readonly #clock: Clock
  readonly #sliceMs: number
  #endMs: number

  constructor(clock: Clock, sliceMs: number = SLICE_MS) {
    this.#clock = clock
    this.#sliceMs = sliceMs
    this.#endMs = clock.monotonicMs() + (GATE.isFull ? 0 : sliceMs)
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endMs
  }

  async turn(): Promise<void> {
    const roomMs = await GATE.wait(this.#sliceMs)
    this.#endMs = this.#clock.monotonicMs() + roomMs
  }
}
