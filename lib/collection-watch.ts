// Measures how much of a thread's time garbage collections took.
//
// A collection stops the thread at any point, and its length depends on the living memory. So it is
// not charged to the work that it interrupts. Node reports a collection after the turn of the event
// loop that it interrupted, so a span of time is measured in the next turn:
//
//   span ends ──► turn ends ──► node notes the turn's collections ──► `whenKnown` calls ──► `msWithin`
//
// Invariants:
//   CW1  When `whenKnown` calls back, all collections that ended before the request are known.
//   CW2  No moment counts twice, even if two reported collections contain it.

import { PerformanceObserver } from 'node:perf_hooks'

/** More collections than one turn has. Older ones are forgotten. */
const KEPT_MAX = 256

/** One garbage collection, in milliseconds of `performance.now`, as the system's clock has them. */
export interface Collection {
  readonly startTime: number
  readonly duration: number
}

/** The collections of a thread, reported as they become known. */
export interface Collections {
  /** Reports at once all known collections that were not reported. */
  flush(): void
  stop(): void
}

export type ObserveCollections = (note: (collection: Collection) => void) => Collections

/** The source of collections, and the call for each of them. */
export interface CollectionWatchOptions {
  /** The source of collections. The default is this thread. */
  readonly observe?: ObserveCollections
  /** Called with the length of each collection, in ms. */
  readonly onCollection?: (ms: number) => void
}

/** Watches the collections of a thread from `start` until `stop`. */
export class CollectionWatch {
  readonly #onCollection: ((ms: number) => void) | undefined
  readonly #collections: Collections
  readonly #beganMs = new Float64Array(KEPT_MAX)
  readonly #endedMs = new Float64Array(KEPT_MAX)
  #count = 0
  #lastEndMs = -Infinity
  #waiting: (() => void)[] = []

  private constructor({ observe = observeThread, onCollection }: CollectionWatchOptions) {
    this.#onCollection = onCollection
    this.#collections = observe((collection) => this.#note(collection))
  }

  static start(options: CollectionWatchOptions = {}): CollectionWatch {
    return new CollectionWatch(options)
  }

  stop(): void {
    this.#collections.stop()
  }

  /** Calls `call` in the next turn, when everything up to now is known. Calls keep their order. */
  whenKnown(call: () => void): void {
    if (this.#waiting.push(call) > 1) return
    setImmediate(() => {
      this.#collections.flush()
      for (const waiting of this.#waiting.splice(0)) waiting()
    })
  }

  /** The ms of collections between two recent moments. */
  msWithin(beganMs: number, endedMs: number): number {
    let ms = 0
    const oldest = Math.max(0, this.#count - KEPT_MAX)
    for (let i = this.#count - 1; i >= oldest; i -= 1) {
      const at = i % KEPT_MAX
      const until = this.#endedMs[at] ?? 0
      if (until <= beganMs) break
      const from = this.#beganMs[at] ?? 0
      ms += Math.max(0, Math.min(until, endedMs) - Math.max(from, beganMs))
    }
    return ms
  }

  #note({ startTime, duration }: Collection): void {
    const endMs = startTime + duration
    this.#onCollection?.(duration)
    if (endMs <= this.#lastEndMs) return
    const at = this.#count % KEPT_MAX
    this.#beganMs[at] = Math.max(startTime, this.#lastEndMs)
    this.#endedMs[at] = endMs
    this.#lastEndMs = endMs
    this.#count += 1
  }
}

const observeThread: ObserveCollections = (note) => {
  const noteAll = (collections: readonly Collection[]): void => collections.forEach(note)
  const observer = new PerformanceObserver((list) => noteAll(list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  return {
    flush: () => noteAll(observer.takeRecords()),
    stop: () => observer.disconnect(),
  }
}
