// The flush and the merges of one index, which are driven step by step and wait for the disk or other threads in
// between.
//
//   flush ───────────────────────► lists ─┐
//   merge ──► its files ──► gate ─► lists ─┴─► one at a time
//
// Invariants:
//   UK1  No merge takes the place of its segments while a flush is under way. Until then its steps come where the
//        flush waits.
//   UK2  What one of them lists is durable before another one lists anything: a flush that begins while a merge
//        ends continues after it, and so does the end of another merge.
//   UK3  A merge that is ready takes its place before the next flush begins: writers that never pause do not keep
//        merges from their end.

import { must } from '../../../lib/assert.ts'
import type { Paced } from '../../../lib/sliced.ts'

/** Begins a merge; undefined if there is nothing to merge. */
export type NextMerge = () => Paced<void> | undefined

/** Ends a merge when nothing else is being listed: `end` takes the place of its segments in its first step. */
export type EndMerge = (end: () => Paced<void>) => Paced<void>

/** Flushes and merges of one index, one step at a time. */
export class Upkeep {
  readonly #onReady: () => void
  #flushing: PacedRun | undefined
  /** By lane. */
  readonly #merging: (PacedRun | undefined)[] = []
  /** The one whose step is being done. */
  #stepping: PacedRun | undefined
  #ending: PacedRun | undefined
  /** Merges that are ready to end, the first one first. */
  readonly #ready: PacedRun[] = []

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

  /** The end of a merge, which takes the place of its segments in its first step, and lists it in the others. */
  *endMerge(end: () => Paced<void>): Paced<void> {
    const merge = must(this.#stepping, 'the merge whose step this is')
    if (this.#isListing) {
      this.#ready.push(merge)
      yield untilWoken()
    }
    this.#ending = merge
    yield* end()
    this.#ending = undefined
  }

  /**
   * One step, if there is one to do. Answers whether there is another one. Merges run in lanes, one in each; a lane has a
   * step when a flush and the lanes before it wait.
   */
  step(lanes: readonly NextMerge[]): boolean {
    const work = this.#next(lanes)
    if (work === undefined) return false
    this.#advance(work)
    while (!this.#isListing) {
      const ready = this.#ready.shift()
      if (ready === undefined) break
      ready.wake()
      this.#advance(ready)
    }
    return this.#next(lanes) !== undefined
  }

  /** Abandons all steps, finished or not. */
  end(): void {
    this.#flushing?.end()
    this.#flushing = undefined
    this.#ready.splice(0)
    for (const merging of this.#merging.splice(0)) merging?.end()
  }

  /** Whether something is listed, or will be without waiting for anything else. */
  get #isListing(): boolean {
    return this.#flushing !== undefined || this.#ending !== undefined
  }

  #advance(work: PacedRun): void {
    this.#stepping = work
    if (!work.advance()) return
    if (work === this.#flushing) this.#flushing = undefined
    else this.#merging[this.#merging.indexOf(work)] = undefined
  }

  /** What can do a step now. */
  #next(lanes: readonly NextMerge[]): PacedRun | undefined {
    const first = this.#ending ?? this.#flushing
    if (first !== undefined && first.waitsFor === undefined) return first
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

  /** It waits no longer, whatever it waited for. */
  wake(): void {
    this.#waitsFor = undefined
  }

  end(): void {
    this.#work.return()
  }

  #rest(until: Promise<void>): void {
    const waitsFor = until.then(() => {
      if (this.#waitsFor !== waitsFor) return
      this.#waitsFor = undefined
      this.#onReady()
    })
    this.#waitsFor = waitsFor
  }
}

/** A promise of its own, so that nothing is kept when it is forgotten. */
function untilWoken(): Promise<void> {
  return new Promise(() => undefined)
}
