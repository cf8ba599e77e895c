// The flush and the merges of one index, which are driven step by step and wait for the disk or other threads in
// between.
//
// Invariants:
//   UK1  A flush comes before a merge: no merge takes the place of its segments while a flush is under way.
//   UK2  What one of them lists is durable before another one lists anything: a flush that begins while a merge
//        ends continues after it, and so does another merge.

import type { Paced } from '../../../lib/sliced.ts'

/** Begins a merge; undefined if there is nothing to merge. */
export type NextMerge = () => Paced<void> | undefined

/** Flushes and merges of one index, one step at a time (UK1, UK2). */
export class Upkeep {
  readonly #onReady: () => void
  #flushing: PacedRun | undefined
  /** By lane. */
  readonly #merging: (PacedRun | undefined)[] = []
  /** The one whose step is being done. */
  #stepping: PacedRun | undefined
  #ending: PacedRun | undefined

  /** `onReady` hears that there is a step to do again, after there was none. */
  constructor(onReady: () => void) {
    this.#onReady = onReady
  }

  get isFlushing(): boolean {
    return this.#flushing !== undefined
  }

  /** What the next step of a flush that is under way comes after; undefined if it may come now. */
  get flushWaitsFor(): Promise<void> | undefined {
    if (this.#flushing === undefined) return undefined
    return (this.#ending ?? this.#flushing).waitsFor
  }

  /** Does the first step of a flush. None is under way. */
  beginFlush(work: Paced<void>): void {
    this.#flushing = new PacedRun(work, this.#onReady)
    this.#flushing.advance()
  }

  /** The end of a merge: it has taken the place of its segments, and lists them (UK2). */
  *endMerge(listing: Paced<void>): Paced<void> {
    this.#ending = this.#stepping
    yield* listing
    this.#ending = undefined
  }

  /**
   * One step, if there is one to do. Answers whether there is another one. Merges run in lanes, one in each; a lane has a
   * step when those before it wait.
   */
  step(lanes: readonly NextMerge[]): boolean {
    const work = this.#next(lanes)
    if (work === undefined || work.waitsFor !== undefined) return false
    this.#stepping = work
    if (work.advance()) {
      if (work === this.#flushing) this.#flushing = undefined
      else this.#merging[this.#merging.indexOf(work)] = undefined
    }
    const next = this.#next(lanes)
    return next !== undefined && next.waitsFor === undefined
  }

  /** Gives all up where they are. */
  end(): void {
    this.#flushing?.end()
    this.#flushing = undefined
    for (const merging of this.#merging.splice(0)) merging?.end()
  }

  #next(lanes: readonly NextMerge[]): PacedRun | undefined {
    const first = this.#ending ?? this.#flushing
    if (first !== undefined) return first
    for (const [lane, nextMerge] of lanes.entries()) {
      const merging = (this.#merging[lane] ??= this.#begun(nextMerge()))
      if (merging !== undefined && merging.waitsFor === undefined) return merging
    }
    return undefined
  }

  #begun(work: Paced<void> | undefined): PacedRun | undefined {
    return work && new PacedRun(work, this.#onReady)
  }
}

/** A computation that rests while it waits. */
class PacedRun {
  readonly #work: Paced<void>
  readonly #onReady: () => void
  #waitsFor: Promise<void> | undefined

  constructor(work: Paced<void>, onReady: () => void) {
    this.#work = work
    this.#onReady = onReady
  }

  get waitsFor(): Promise<void> | undefined {
    return this.#waitsFor
  }

  /** One step. Answers whether it was the last. */
  advance(): boolean {
    const step = this.#work.next()
    if (step.done === true) return true
    if (step.value !== undefined) this.#rest(step.value)
    return false
  }

  end(): void {
    this.#work.return()
  }

  #rest(until: Promise<void>): void {
    this.#waitsFor = until.then(() => {
      this.#waitsFor = undefined
      this.#onReady()
    })
  }
}
