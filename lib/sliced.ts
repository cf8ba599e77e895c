// Long computations that share their thread. A computation over a user's data is a generator that
// yields where it may pause. Its runner decides how long it may hold the thread. All computations
// that run here share the turns of the thread's event loop (turn-gate.ts).

import { assert } from './assert.ts'
import type { Clock } from './clock.ts'
import { TurnGate } from './turn-gate.ts'

/**
 * A computation in steps. Contract:
 * - Between two yields it does at most about a millisecond of work, whatever its input.
 * - At a yield, it holds no state that another computation on the thread could break.
 * - Its caller may leave it at any yield. Its memory is then garbage.
 */
export type Sliced<Result> = Generator<undefined, Result, undefined>

/**
 * A computation in steps that may also wait for another thread or the disk: it yields the promise that its next
 * step comes after. The promise is never rejected; what went wrong is thrown by the next step.
 */
export type Paced<Result> = Generator<Promise<void> | undefined, Result, undefined>

/** For computations that often end within their first step. */
export function isSliced<Result>(found: Result | Sliced<Result>): found is Sliced<Result> {
  return found instanceof Iterator
}

/** How long a computation may hold the event loop before other work gets a turn. */
export const SLICE_MS = 4

/** A thread has one event loop, and this object belongs to it, as `setImmediate` does. */
const GATE = new TurnGate()

/** Counts work in units that the caller chooses, and reports when a step is full. */
export class StepMeter {
  readonly #unitsPerStep: number
  #left: number

  /** `unitsPerStep` units take about a millisecond. */
  constructor(unitsPerStep: number) {
    this.#unitsPerStep = unitsPerStep
    this.#left = unitsPerStep
  }

  /** Counts units. True means that the caller must yield. */
  spend(units: number): boolean {
    this.#left -= units
    if (this.#left > 0) return false
    this.#left = this.#unitsPerStep
    return true
  }
}

/**
 * Runs a computation to its end without a pause. For tests, tools and inputs that are known to be
 * small. It waits for nobody.
 */
export function runAtOnce<Result>(work: Paced<Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    assert(step.value === undefined, 'it waits for no other thread')
  }
}

/** How to run a computation. */
export interface SliceOptions {
  readonly clock: Clock
  /** The length of a slice. The default is SLICE_MS. */
  readonly sliceMs?: number
  /** Ends the computation at its next pause, with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Runs a computation in slices. The event loop gets a turn between two slices. */
export function runSliced<Result>(
  work: Sliced<Result>,
  { clock, sliceMs = SLICE_MS, signal }: SliceOptions,
): Promise<Result> {
  return GATE.run(work, { clock, sliceMs, signal })
}

/**
 * Runs a computation. If it ends in its first step, it answers at once; otherwise it runs in
 * slices.
 */
export function runInTurn<Result>(
  work: Sliced<Result>,
  options: SliceOptions,
): Result | Promise<Result> {
  const first = work.next()
  return first.done === true ? first.value : runSliced(work, options)
}

/**
 * Begins what continues without its caller, such as a request. Hundreds that are begun at once share the turns, as
 * computations do. Settles as `begin` does, or with the signal's reason.
 */
export async function beginInTurn<Begun>(
  begin: () => Promise<Begun>,
  options: SliceOptions,
): Promise<Begun> {
  const { begun } = await runSliced(beginning(begin), options)
  return begun
}

function* beginning<Begun>(begin: () => Promise<Begun>): Sliced<{ begun: Promise<Begun> }> {
  const begun = begin()
  begun.catch(() => undefined) // it may fail before its turn to be awaited
  yield
  return { begun }
}

/** For loops that wait anyway. Reports when their slice is over, and waits for the next turn. */
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
